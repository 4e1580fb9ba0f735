# SPDX-License-Identifier: Apache-2.0
"""Shows in a few minutes what Stretto is for: an allreduce and a training, by the MPI default and by Stretto.

Runs on an emulated cluster if one can be made (which takes root), else on ranks of this machine, without
a network. Every command is printed as a user would type it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from stretto.lab.cluster import Lab, check_machine
from stretto.lab.links import Links
from stretto.launch import mpi
from stretto.launch.mpi import Flavor, Install
from stretto.launch.run import mpi4py_settings, rank_options
from stretto.support.console import print_lines
from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate, speedup
from stretto.support.interruption import INTERRUPTIONS, exit_status_of, signals_as_exceptions
from stretto.support.machine_load import LoadWatch
from stretto.support.tables import Column, ResultTable
from stretto.support.units import three_digits

LAB = "stretto-demo"
RATE = "200mbit"
TURNS = 3
LOCAL_STEPS = 10
"""How many times as many steps a training makes where no network is emulated."""
SCRIPT = Path(__file__).with_name("train_digits.py")
TORCH_SCRIPT = Path(__file__).with_name("train_digits_torch.py")
PYTHON = sys.executable

console = Console(highlight=False)


@dataclass(frozen=True)
class Result:
    """A line of the summary."""

    what: str
    native: str
    stretto: str
    speedup: str = ""
    spec: str = ""
    """The spec by which Stretto carried out the calls, or most of them."""
    busy: Sequence[str] = ()
    """What else kept the machine busy meanwhile."""


Results = Generator[Result]


@dataclass(frozen=True)
class Place:
    """Where the programs run: on the lab, or on ranks of this machine."""

    install: Install
    ranks: int
    on_lab: bool

    @property
    def name(self) -> str:
        """Return the name for headings and file names."""
        return f"{self.ranks} nodes" if self.on_lab else f"{self.ranks} ranks"

    def bench(self, files: Path) -> list[str]:
        """Return the command that measures the MPI default and Stretto."""
        command = ["stretto", "bench", "allreduce", "--mpi", self.install.flavor.value]
        command += ["--specs", "native,auto", "-o", f"{files}.json", "--png", f"{files}.png"]
        if self.on_lab:
            # The largest messages take seconds each, and vary by only a percent.
            limits = ["--repetitions", "5", "--warmup", "1", "--max-seconds", "15"]
            return [*command, "--sizes", "64KiB..16MiB:4", *limits, "--lab", "--lab-name", LAB]
        return [*command, "--sizes", "1KiB..16MiB:4", "--max-seconds", "5", "--np", str(self.ranks)]

    def train(self, options: Sequence[str], stats: Path | None) -> list[str]:
        """Return the command that trains the network: with Stretto if there is a file for its statistics."""
        program = [PYTHON, str(SCRIPT), *options]
        if self.on_lab:
            line = ["stretto", "lab", "run", "--name", LAB, "--mpi", self.install.flavor.value]
            return [*line, *(["--stretto", "-x", f"STRETTO_STATS={stats}"] if stats else []), "--", *program]
        launcher, flavor = self.install.launcher, self.install.flavor
        line = [str(launcher.path)]
        if not stats:
            # mpi4py's wheel must load the MPI of this launcher. `stretto run` takes care of that itself.
            line += rank_options(flavor, mpi4py_settings(launcher, os.environ))
        if flavor.abi == "openmpi":
            line += ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
        line += ["-np", str(self.ranks), *program]
        return ["stretto", "run", "--stats", str(stats), "--", *line] if stats else line


def torch_command(options: Sequence[str], stats: Path | None) -> list[str]:
    """Return the command that trains by PyTorch, with Stretto if there is a file for its statistics."""
    line = ["torchrun", "--nproc-per-node", "2", str(TORCH_SCRIPT), "--backend", "gloo", *options]
    return ["stretto", "run", "--replace", "gloo", "--stats", str(stats), "--", *line] if stats else line


def show(command: Sequence[str]) -> None:
    """Print a command as a user would type it."""
    examples = str(SCRIPT.parents[1]) + os.sep
    shown = shlex.join(command).replace(PYTHON, "python").replace(examples, "")
    console.print(f"$ {shown}", style="bold cyan", markup=False, soft_wrap=True)


def run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run a command. Raises StrettoError if it fails."""
    # The environment's programs are found though nobody has activated it.
    path = f"{Path(PYTHON).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    process = subprocess.Popen(command, env={**os.environ, "PATH": path, **environment})
    try:
        status = process.wait()
    except BaseException:
        # The command got the Ctrl-C, too. It needs time to end its ranks.
        process.terminate()
        process.wait(20)
        raise
    if status:
        raise StrettoError(f"the last command ended with status {status}")


def measure(place: Place, results: Path) -> Result:
    """Measure and draw; return a line of the summary."""
    console.rule(f"MPI_Allreduce on {place.name}: MPI default and Stretto")
    files = results / f"demo-{place.name.replace(' ', '-')}"
    watch = LoadWatch()
    show(place.bench(files))
    run(place.bench(files), place.install.environment())
    console.print(f"the plot is in {files}.png\n", markup=False, soft_wrap=True)
    report = json.loads(Path(f"{files}.json").read_text())
    largest = max(entry["bytes"] for entry in report["results"])
    by_spec = {entry["spec"]: entry for entry in report["results"] if entry["bytes"] == largest}
    rates = {spec: entry["bytes"] / entry["time"]["median"] / 1e6 for spec, entry in by_spec.items()}
    ours = by_spec["auto"]
    return Result(
        f"allreduce of {largest >> 20} MiB, {place.name}",
        f"{three_digits(rates['native'])} MB/s",
        f"{three_digits(rates['auto'])} MB/s",
        Estimate(**ours["speedup"]).text(),
        ours["chosen"],
        watch.look().remarks(),
    )


def train(
    where: str,
    command_of: Callable[[Sequence[str], Path | None], list[str]],
    files: Path,
    steps: int,
    environment: Mapping[str, str],
) -> Results:
    """Train without and with Stretto, in turns; yield lines of the summary.

    `command_of`: the command of a training, by the options of its program and the file for statistics.
    """
    console.rule(f"Training on {where}: without Stretto and with it, in turns")
    stats = Path(f"{files}-calls.json").absolute()
    figures: dict[str, list[dict[str, Any]]] = {"without": [], "with": []}
    lines = {}
    for name, its_stats in (("without", None), ("with", stats)):
        options = ["--steps", str(steps), "--json", f"{files}-{name}.json"]
        lines[name] = command_of(options, its_stats)
        show(lines[name])
    watch = LoadWatch()
    for turn in range(TURNS):
        # The order changes, so that a machine that gets faster or slower favours none.
        for name in ("without", "with") if turn % 2 == 0 else ("with", "without"):
            print(f"{name}:", flush=True)
            run(lines[name], environment)
            figures[name].append(json.loads(Path(f"{files}-{name}.json").read_text()))
    console.print()
    seconds = {name: [1 / one["samples_per_second"] for one in all_] for name, all_ in figures.items()}
    rates = {name: f"{three_digits(1 / median(all_))} images/s" for name, all_ in seconds.items()}
    gain = speedup(seconds["without"], seconds["with"]).text()
    spec = most_used(json.loads(stats.read_text()))
    yield Result(f"training, {where}", rates["without"], rates["with"], gain, spec, watch.look().remarks())
    accuracies = (f"{all_[-1]['accuracy']:.2%}" for all_ in (figures["without"], figures["with"]))
    yield Result(f"accuracy, {where}", *accuracies)


def most_used(stats: Mapping[str, Any]) -> str:
    """Return the spec by which most bytes of a job were reduced."""
    moved: Counter[str] = Counter()
    for call in stats["calls"]:
        if call["collective"].endswith("allreduce"):
            moved[call["spec"]] += call["calls"] * call["bytes_from"]
    return moved.most_common(1)[0][0]


def train_by_torch(results: Path, steps: int) -> Results:
    """Train by PyTorch under torchrun, on gloo and on Stretto in its place, if PyTorch is installed."""
    if util.find_spec("torch") is None:
        console.print(
            "no PyTorch here: `scripts/setup frameworks` installs it, then the demo has torchrun, too\n"
        )
        return
    console.rule("PyTorch: the extension, built once")
    extension = [PYTHON, "-m", "stretto.torch"]
    show(extension)
    run(extension, {})
    # What torchrun would set, with a warning.
    variables = {"OMP_NUM_THREADS": "1"}
    yield from train("2 ranks of torchrun", torch_command, results / "demo-torchrun", steps, variables)


def print_summary(results: Sequence[Result], install: Install) -> None:
    """Print all results in one table."""

    def speedup_of(one: Result) -> str:
        return f"{one.speedup}\nbusy machine" if one.busy else one.speedup

    ResultTable(
        [
            Column(
                "",
                lambda one: f"{one.what}\n  by {one.spec}" if one.spec else one.what,
                left=True,
                is_key=True,
            ),
            Column("without", lambda one: one.native, is_key=True),
            Column("with Stretto", lambda one: one.stretto, is_key=True),
            Column("speedup", speedup_of, is_key=True),
        ],
        results,
        title=f"{install.flavor.label} ({install.launcher.version}), torchrun: gloo",
    ).print()
    print_lines(
        [
            "by: the spec that Stretto used for this size, or for most bytes; native: left to the library",
            f"speedup: median of pairs in turns, with its range; a training has {TURNS} pairs",
        ]
    )
    for one in results:
        print_lines((f"! {one.what}: {remark}" for remark in one.busy), style="yellow")
    if any(one.busy for one in results):
        print_lines(
            ["! such figures say little about Stretto: run the demo on an idle machine"], style="yellow"
        )


def on_lab(install: Install, results: Path, steps: int | None) -> Results:
    """Run on a power of two of nodes, where the MPI default is at its best, and on one node less."""
    for nodes in (8,) if steps is None else (8, 7):
        with Lab.temporary(Links.even(nodes, RATE), name=LAB):
            console.print(f"a lab of {nodes} nodes is up, with links of {RATE}\n")
            place = Place(install, nodes, on_lab=True)
            yield measure(place, results)
            if nodes == 8 and steps is not None:
                files = results / "demo-training"
                yield from train(place.name, place.train, files, steps, install.environment())


def on_this_machine(install: Install, results: Path, steps: int | None) -> Results:
    """Run on two ranks over shared memory."""
    place = Place(install, 2, on_lab=False)
    yield measure(place, results)
    if steps is not None:
        files = results / "demo-training"
        yield from train(place.name, place.train, files, LOCAL_STEPS * steps, install.environment())


def demo(install: Install, results: Path, steps: int | None) -> None:
    """Run everything and print the summary. `steps`: those of a training; None for the first part alone."""
    results.mkdir(parents=True, exist_ok=True)
    measure_all = on_lab
    try:
        check_machine()
        # Only making a namespace shows whether that is allowed here.
        with Lab.temporary(Links.even(1, RATE), name=LAB):
            pass
    except StrettoError as error:
        console.print(f"no lab: {error}", style="yellow", markup=False, soft_wrap=True)
        console.print(
            "so all programs run on ranks of this machine, where no network limits\n", style="yellow"
        )
        measure_all = on_this_machine
    # Closing the generator takes the lab down at once, whatever ended the demo.
    with contextlib.closing(measure_all(install, results, steps)) as rows:
        found = list(rows)
    if steps is not None:
        found += train_by_torch(results, LOCAL_STEPS * steps)
    print_summary(found, install)


def main() -> int:
    """Read the options and run the demo. Every error ends it with one line."""
    parser = argparse.ArgumentParser(description="Compare the MPI default with Stretto, also in a training.")
    parser.add_argument("--mpi", choices=[flavor.value for flavor in Flavor])
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder for the plots")
    parser.add_argument("--steps", type=int, default=20, help="steps of a training on the lab")
    parser.add_argument(
        "--first-part", action="store_true", help="only an allreduce, which needs nothing but Stretto"
    )
    options = parser.parse_args()
    try:
        with signals_as_exceptions():
            steps = None if options.first_part else options.steps
            demo(mpi.find_install(options.mpi or mpi.usual_name()), options.results, steps)
    except StrettoError as error:
        console.print(f"demo: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    except INTERRUPTIONS as ended:
        console.print("interrupted")
        return exit_status_of(ended)
    return 0


if __name__ == "__main__":
    sys.exit(main())
