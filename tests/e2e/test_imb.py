# SPDX-License-Identifier: Apache-2.0
"""Intel's benchmark program, a binary that nobody can rebuild, on the lab with Stretto under it.

Its prebuilt form does not check data; what is looked at here is that it runs through, measures what it was
asked to, and that it was Stretto that carried out the calls.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from stretto import mpi
from stretto.lab import Lab

SPEC = "ring:segments=16"
NODES = 4
SIZES = [2**power for power in range(16, 23)]
# bytes, repetitions, and the least, the most and the mean time of the ranks.
LINE = re.compile(r"^ +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) *$", re.MULTILINE)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab.temporary(NODES, "200mbit", name=f"stretto-imb{os.getpid()}") as lab:
        yield lab


def test_imb_allreduce(
    lab: Lab, run_program: Callable[[Sequence[str], dict[str, str], float], str], tmp_path: Path
) -> None:
    stats = tmp_path / "stats.json"
    launcher = mpi.find_install("intelmpi").launcher
    benchmark = [str(launcher.path.with_name("IMB-MPI1")), "Allreduce", "-npmin", str(NODES)]
    benchmark += ["-msglog", "16:22", "-iter", "5", "-iter_policy", "off"]
    command = [sys.executable, "-m", "stretto", "lab", "run", "--name", lab.name, "--mpi", "intelmpi"]
    command += ["--spec", SPEC, "--", *benchmark]
    output = run_program(command, {"STRETTO_STATS": str(stats), "STRETTO_STRICT": "1"}, 120)

    lines = [[float(cell) for cell in line] for line in LINE.findall(output)]
    assert [line[0] for line in lines] == [0, *SIZES], output
    for size, repetitions, least, most, mean in lines[1:]:
        assert repetitions == 5
        assert 0 < least <= mean <= most
        # Faster than the links allow would mean that something else was timed. The first 256 KiB of a burst
        # pass unshaped.
        moved = 2 * (NODES - 1) / NODES * size - (256 << 10)
        assert most / 1e6 > moved / 25e6

    report = json.loads(stats.read_text())
    assert (report["ranks"], report["nodes"]) == (NODES, NODES)
    assert "Intel" in report["library"]
    of_stretto = {call["bytes_from"]: call for call in report["calls"] if call["spec"] == SPEC}
    for size in SIZES:
        assert of_stretto[size]["calls"] >= 5
        assert of_stretto[size]["bytes"] == size * of_stretto[size]["calls"]
