# SPDX-License-Identifier: Apache-2.0
"""The command line: `stretto` and `python -m stretto`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from stretto.cli.program import Command, OneLineErrors
from stretto.support.errors import StrettoError
from stretto.support.extras import require


@dataclass(frozen=True)
class _Line:
    """A command in the list of all. Its module, and what the module calls it, have its name."""

    group: str
    """What it is for: the heading above it."""
    about: str
    """The beginning of what its own help says."""
    tools: tuple[str, ...] = ()
    """The packages of the extra `tools` that it cannot do without."""


_USE, _MEASURE, _UNDERSTAND, _RESEARCH = "Use", "Measure", "Understand", "Research"

_COMMANDS = {
    "run": _Line(_USE, "Run an MPI or PyTorch program with Stretto under it."),
    "exec": _Line(_USE, "Run one rank of a program with Stretto under it."),
    "doctor": _Line(_USE, "Check the installation: what is there, what is missing, and how to get it."),
    "export": _Line(_USE, "Write settings for the MPI library itself."),
    "lib": _Line(_USE, "Print the path of the shared object to preload."),
    "config": _Line(_USE, "Print how to link."),
    "man": _Line(_USE, "Print the manual page."),
    "tune": _Line(_MEASURE, "Measure which spec is fastest at which size."),
    "bench": _Line(
        _MEASURE, "Measure a collective by several specs, interleaved in one run, and check every result."
    ),
    "profile": _Line(_MEASURE, "Run an MPI program and profile its collectives.", ("pydantic",)),
    "top": _Line(_MEASURE, "Show what the ranks of this node do."),
    "trace": _Line(_MEASURE, "Merge the traces of all ranks; list slow collectives."),
    "calibrate": _Line(
        _MEASURE, "Measure latencies, bandwidths, limits and arithmetic of a cluster.", ("numpy", "scipy")
    ),
    "lab": _Line(_MEASURE, "An emulated cluster on this machine (needs root)."),
    "explain": _Line(_UNDERSTAND, "Show which specs a job uses."),
    "fabric": _Line(_UNDERSTAND, "What jobs have found out about networks: list, show or forget it."),
    "algorithms": _Line(_UNDERSTAND, "List the algorithms."),
    "show": _Line(_UNDERSTAND, "Draw the schedule of an algorithm as a space-time diagram."),
    "verify": _Line(_UNDERSTAND, "Prove that algorithms are correct."),
    "report": _Line(_UNDERSTAND, "Make one self-contained HTML page.", ("jinja2", "plotly", "pydantic")),
    "predict": _Line(_RESEARCH, "Predict collectives on a machine.", ("pydantic",)),
    "advise": _Line(_RESEARCH, "Find the fastest spec for each message size on a planned cluster."),
    "simulate": _Line(_RESEARCH, "Simulate collectives on a cluster."),
    "study": _Line(
        _RESEARCH, "Compare the MPI default, BEST, pipelined calls and Stretto.", ("matplotlib", "pydantic")
    ),
    "train": _Line(_RESEARCH, "Train a network data-parallel, by the MPI default and others in turns."),
    "replay": _Line(_RESEARCH, "Replay a training by Horovod's logic on a simulated cluster.", ("pydantic",)),
    "regret": _Line(
        _RESEARCH, "Compare Stretto's default with the MPI default and the best known spec.", ("pydantic",)
    ),
    "reproduce": _Line(_RESEARCH, "Reproduce the papers' figures.", ("matplotlib", "pydantic")),
}


class Commands(OneLineErrors):
    """All commands. Only the module of the one that is asked for is loaded: it takes its time."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, line in _COMMANDS.items():
            self.add_command(TyperCommand(name, help=line.about, rich_help_panel=line.group))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name of the command, the command, and its arguments."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, name and self.load(name), rest

    def load(self, name: str) -> Any:
        """The command; if what it needs is missing, one that says so."""
        try:
            require(name, *_COMMANDS[name].tools)
            module = import_module(f"stretto.cli.{name}")
        except StrettoError as error:
            return self._complaint(name, str(error))
        except ImportError as error:
            # `stretto doctor` must start all the same, to report what is missing.
            return self._complaint(
                name,
                f"{name}: the compiled module cannot be loaded ({error}); stretto doctor says what to do",
            )
        command = getattr(module, name)
        if isinstance(command, typer.Typer):
            return get_command(command)
        alone = typer.Typer(add_completion=False)
        alone.command(name, cls=getattr(module, "COMMAND_CLASS", Command))(command)
        return get_command(alone)

    def _complaint(self, name: str, reason: str) -> TyperCommand:
        def complain() -> None:
            raise StrettoError(reason)

        any_options = {"ignore_unknown_options": True, "allow_extra_args": True}
        return TyperCommand(name, callback=complain, help=_COMMANDS[name].about, context_settings=any_options)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Fast collectives under unmodified programs of MPI and PyTorch (torch.distributed).",
    epilog="Exit status: 0 success; 1 a check failed; 2 an error, which one line names; 128 + N ended by "
    "signal N. run, profile and lab run: the launcher's status; exec: the program's.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # noqa: PLC0415  slow to load

        print(f"stretto {metadata.version('stretto')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Options that precede the name of a command."""
