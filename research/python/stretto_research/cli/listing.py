# SPDX-License-Identifier: Apache-2.0
"""The list of the commands that this distribution adds. It is loaded with each help of `stretto`."""

from __future__ import annotations

from stretto.cli.listing import Line


def _line(about: str, *tools: str) -> Line:
    return Line("Research", about, tools, "stretto_research.cli")


COMMANDS = {
    "predict": _line("Predict collectives on a machine.", "pydantic"),
    "advise": _line("Find the fastest spec for each message size on a planned cluster."),
    "simulate": _line("Simulate collectives on a cluster."),
    "study": _line("Compare the MPI default, BEST, pipelined calls and Stretto.", "matplotlib", "pydantic"),
    "train": _line("Train a network data-parallel, by the MPI default and others in turns."),
    "replay": _line("Replay a training by Horovod's logic on a simulated cluster.", "pydantic"),
    "regret": _line("Compare Stretto's default with the MPI default and the best known spec.", "pydantic"),
    "reproduce": _line("Reproduce the papers' figures.", "matplotlib", "pydantic"),
}
