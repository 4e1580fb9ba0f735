# SPDX-License-Identifier: Apache-2.0
"""Compares whole programs with Stretto and without, in turns: those of tests/e2e/programs.py.

    HOME=$(mktemp -d) python -m benchmarks.programs --turns 9
    stretto lab up --nodes 2 --rate 1gbit
    HOME=$(mktemp -d) python -m benchmarks.programs --lab stretto --ppn 2 --only LAMMPS,NWChem

A time is that of the whole command, from the launcher's start to its end. The ratio is the time with Stretto
divided by that without, in pairs of jobs that follow each other; the first pair does not count. Stretto keeps
what jobs find out in the user's cache: a new HOME begins with nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.e2e.programs import PROGRAMS, RANKS, Program

from stretto.bench.targets import Place, find_target
from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate, slowdown


def place_of(program: Program, options: argparse.Namespace) -> Place:
    """Return where it runs."""
    return Place([], program.mpi, ranks=RANKS, lab_name=options.lab, ppn=options.ppn)


def seconds_of(program: Program, place: Place, folder: Path, *, preloaded: bool) -> float:
    """Return the time of one job."""
    line = program.line(folder, longer=True)
    target = find_target(place, preloaded=preloaded)
    began = time.perf_counter()
    with target.start(line) as process:
        output, _ = process.communicate()
        took = time.perf_counter() - began
    if process.returncode != 0:
        raise StrettoError(f"{program.name} failed: {process.returncode}\n{output[-2000:]}")
    program.results(output, folder)
    return took


def shares(stats: Path) -> str:
    """Return the collectives that were called, and the percentage of calls that Stretto carried out."""
    calls, ours = Counter[str](), Counter[str]()
    for call in json.loads(stats.read_text())["calls"]:
        calls[call["collective"]] += call["calls"]
        ours[call["collective"]] += call["calls"] if call["spec"] != NATIVE else 0
    return ", ".join(f"{name} {count} ({100 * ours[name] / count:.0f} %)" for name, count in calls.items())


def text_of(estimate: Estimate) -> str:
    """Return a ratio with its interval."""
    return f"{estimate.median:.2f} ({estimate.low:.2f}-{estimate.high:.2f})"


def measure(program: Program, options: argparse.Namespace) -> None:
    """Print a row."""
    place = place_of(program, options)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as name:
        folder, stats = Path(name), Path(name) / "stats.json"
        os.environ["STRETTO_STATS"] = str(stats)
        for turn in range(options.turns + 1):
            for preloaded in (False, True) if turn % 2 else (True, False):
                took = seconds_of(program, place, folder / f"{turn}-{preloaded}", preloaded=preloaded)
                if turn > 0:
                    seconds[preloaded].append(took)
        native, ours = (sorted(seconds[one])[options.turns // 2] for one in (False, True))
        ratio = text_of(slowdown(seconds[False], seconds[True]))
        print(f"| {program.name} | {native:.2f} | {ours:.2f} | {ratio} | {shares(stats)} |", flush=True)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--only", help="names of programs, with commas; without it, all")
    parser.add_argument("--lab", help="the name of the emulated cluster; without it, this machine")
    parser.add_argument("--ppn", type=int, default=2)
    options = parser.parse_args()
    print("| program | s | s with Stretto | ratio (95 %) | calls in the last job (by Stretto) |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    for program in PROGRAMS:
        if not options.only or program.name in options.only.split(","):
            measure(program, options)


if __name__ == "__main__":
    main()
