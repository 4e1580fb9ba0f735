# SPDX-License-Identifier: Apache-2.0
"""Intel's benchmark programs with Stretto preloaded. They are binaries that cannot be rebuilt. The program
for blocking collectives runs on the lab, and the program for non-blocking collectives on this machine, with
each MPI of its binary interface.

The prebuilt programs do not check data. The tests check that they run to the end and measure the requested
calls, and that Stretto carried out these calls.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto.lab.cluster import Lab
from stretto.lab.links import Links
from stretto.launch import mpi

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

SPEC = "ring:segments=16"
NODES = 4
SIZES = [2**power for power in range(16, 23)]
# bytes, repetitions, and the least, the most and the mean time of the ranks.
LINE = re.compile(r"^ +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) *$", re.MULTILINE)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab.temporary(Links.even(NODES, "200mbit"), name=f"stretto-imb{os.getpid()}") as lab:
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
        # A time that is shorter than the links allow would mean that something else was timed. The first
        # 256 KiB of a burst are not slowed down.
        moved = 2 * (NODES - 1) / NODES * size - (256 << 10)
        assert most / 1e6 > moved / 25e6

    report = json.loads(stats.read_text())
    assert (report["ranks"], report["nodes"]) == (NODES, NODES)
    assert "Intel" in report["library"]
    of_stretto = {call["bytes_from"]: call for call in report["calls"] if call["spec"] == SPEC}
    for size in SIZES:
        assert of_stretto[size]["calls"] >= 5
        assert of_stretto[size]["bytes"] == size * of_stretto[size]["calls"]


RANKS = 3
ITERATIONS = 5
SHORT_SIZES = [2**power for power in range(12, 15)]
# Whether the size that the benchmark prints is that of each rank's block.
BY_BLOCKS = {"allreduce": False, "bcast": False, "reduce": False, "reduce_scatter": True, "allgather": True}
FORCED = {
    "allreduce": "ring:segments=3",
    "bcast": "chain:segments=4",
    "reduce": "binomial:segments=2",
    "reduce_scatter": "pairwise",
    "allgather": "bruck:segments=3",
}
TITLE = re.compile(r"^# Benchmarking (\w+) *$", re.MULTILINE)
# bytes, repetitions, the time with computation, without, that of the computation, and the overlap in percent.
OVERLAP_LINE = re.compile(r"^ +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) *$", re.MULTILINE)


@pytest.mark.parametrize("name", ["intelmpi", "mpich", "mpich5"])
def test_imb_of_non_blocking_collectives(
    local_ranks: Callable[[str], LocalRanks], tmp_path: Path, name: str
) -> None:
    stats = tmp_path / "stats.json"
    program = mpi.find_install("intelmpi").launcher.path.with_name("IMB-NBC")
    benchmarks = [f"I{collective}{form}" for form in ("", "_pure") for collective in FORCED]
    options = ["-npmin", str(RANKS), "-msglog", "12:14", "-iter", str(ITERATIONS), "-iter_policy", "off"]
    output = local_ranks(name).run(
        RANKS,
        [str(program), *benchmarks, *options],
        specs=[f"{collective}/{spec}" for collective, spec in FORCED.items()],
        stats=stats,
        settings={"STRETTO_STRICT": "1"},
    )

    _, *parts = TITLE.split(output)
    assert parts[::2] == benchmarks, output
    for benchmark, table in zip(benchmarks, parts[1::2], strict=True):
        pattern = LINE if benchmark.endswith("_pure") else OVERLAP_LINE
        lines = [[float(cell) for cell in line] for line in pattern.findall(table)]
        assert [line[:2] for line in lines] == [[size, ITERATIONS] for size in [0, *SHORT_SIZES]], table
        for line in lines[1:]:
            assert all(time > 0 for time in line[2:5]), line
            assert all(0 <= overlap <= 100 for overlap in line[5:]), line
    assert "stretto:" not in output

    report = json.loads(stats.read_text())
    assert report["ranks"] == RANKS
    for collective, spec in FORCED.items():
        calls = {
            call["bytes"] / call["calls"]: call["calls"]
            for call in report["calls"]
            if (call["collective"], call["spec"]) == (collective, spec)
        }
        for size in SHORT_SIZES:
            # One benchmark has calls with and without computation, the other only without.
            assert calls[size * (RANKS if BY_BLOCKS[collective] else 1)] >= 3 * ITERATIONS, calls
        # Calls that Stretto did not carry out are empty.
        others = [call for call in report["calls"] if call["collective"] == collective]
        assert sum(call["bytes"] for call in others if call["spec"] != spec) == 0, others
