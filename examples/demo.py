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
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from stretto.lab.cluster import Lab, check_machine
from stretto.lab.links import Links
from stretto.launch import mpi
from stretto.launch.mpi import Flavor, Install
from stretto.launch.run import mpi4py_settings, rank_options
from stretto.support.errors import StrettoError
from stretto.support.interruption import INTERRUPTIONS, exit_status_of, signals_as_exceptions
from stretto.support.tables import print_rows

LAB = "stretto-demo"
RATE = "200mbit"
SCRIPT = Path(__file__).with_name("train_digits.py")
PYTHON = sys.executable

console = Console(highlight=False)

Rows = Generator[tuple[str, ...]]


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

    def train(self, options: Sequence[str], *, stretto: bool) -> list[str]:
        """Return the command that trains the network."""
        program = [PYTHON, str(SCRIPT), *options]
        if self.on_lab:
            line = ["stretto", "lab", "run", "--name", LAB, "--mpi", self.install.flavor.value]
            return [*line, "--stretto" if stretto else "--native", "--", *program]
        launcher, flavor = self.install.launcher, self.install.flavor
        line = [str(launcher.path)]
        if not stretto:
            # mpi4py's wheel must load the MPI of this launcher. `stretto run` takes care of that itself.
            line += rank_options(flavor, mpi4py_settings(launcher, os.environ))
        if flavor.abi == "openmpi":
            line += ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
        line += ["-np", str(self.ranks), *program]
        return ["stretto", "run", "--", *line] if stretto else line


def show(command: Sequence[str], environment: dict[str, str]) -> None:
    """Print a command and run it. Raises StrettoError if it fails."""
    shown = shlex.join(command).replace(PYTHON, "python").replace(str(SCRIPT), "examples/train_digits.py")
    console.print(f"$ {shown}", style="bold cyan", markup=False, soft_wrap=True)
    if command[0] == "stretto":
        command = [PYTHON, "-m", *command]
    process = subprocess.Popen(command, env={**os.environ, **environment})
    try:
        status = process.wait()
    except BaseException:
        # The command got the Ctrl-C, too. It needs time to end its ranks.
        process.terminate()
        process.wait(20)
        raise
    if status:
        raise StrettoError(f"the last command ended with status {status}")


def measure(place: Place, results: Path) -> tuple[str, ...]:
    """Measure and draw; return a line of the summary."""
    console.rule(f"MPI_Allreduce on {place.name}: MPI default and Stretto")
    files = results / f"demo-{place.name.replace(' ', '-')}"
    show(place.bench(files), place.install.environment())
    console.print(f"the plot is in {files}.png\n", markup=False, soft_wrap=True)
    report = json.loads(Path(f"{files}.json").read_text())
    largest = max(entry["bytes"] for entry in report["results"])
    by_spec = {entry["spec"]: entry for entry in report["results"] if entry["bytes"] == largest}
    rates = {spec: entry["bytes"] / entry["time"]["median"] / 1e6 for spec, entry in by_spec.items()}
    what = f"allreduce of {largest >> 20} MiB, {place.name}"
    return compare(what, rates["native"], rates["auto"], "MB/s")


def compare(what: str, native: float, stretto: float, unit: str) -> tuple[str, ...]:
    """Return a line of the summary: two figures and their ratio."""
    return what, f"{native:,.1f} {unit}", f"{stretto:,.1f} {unit}", f"{stretto / native:.2f}"


def train(place: Place, results: Path, steps: int) -> Rows:
    """Train without and with Stretto; yield lines of the summary."""
    console.rule(f"Training on digits, data-parallel on {place.name}: without Stretto, then with it")
    figures: list[dict[str, Any]] = []
    for stretto in (False, True):
        file = results / f"demo-training-{'with' if stretto else 'without'}.json"
        options = ["--steps", str(steps), "--json", str(file)]
        show(place.train(options, stretto=stretto), place.install.environment())
        figures.append(json.loads(file.read_text()))
    console.print()
    native, ours = figures
    speeds = native["samples_per_second"], ours["samples_per_second"]
    yield compare(f"training, {place.name}", *speeds, "samples/s")
    yield "accuracy on the test part", f"{native['accuracy']:.2%}", f"{ours['accuracy']:.2%}", ""


def print_summary(rows: Sequence[tuple[str, ...]], install: Install) -> None:
    """Print all results in one table."""
    label = f"{install.flavor.label} ({install.launcher.version})"
    print_rows([f"{label}, without and with Stretto", "MPI default", "Stretto", "speedup"], rows)


def on_lab(install: Install, results: Path, steps: int | None) -> Rows:
    """Run on a power of two of nodes, where the MPI default is at its best, and on one node less."""
    for nodes in (8,) if steps is None else (8, 7):
        with Lab.temporary(Links.even(nodes, RATE), name=LAB):
            console.print(f"a lab of {nodes} nodes is up, with links of {RATE}\n")
            place = Place(install, nodes, on_lab=True)
            yield measure(place, results)
            if nodes == 8 and steps is not None:
                yield from train(place, results, steps)


def on_this_machine(install: Install, results: Path, steps: int | None) -> Rows:
    """Run on two ranks over shared memory."""
    place = Place(install, 2, on_lab=False)
    yield measure(place, results)
    if steps is not None:
        # A step is ten times as fast here as on the lab.
        yield from train(place, results, 10 * steps)


def demo(install: Install, results: Path, steps: int | None) -> None:
    """Run everything and print the summary. `steps`: those of a training; None for the first part alone."""
    results.mkdir(parents=True, exist_ok=True)
    run = on_lab
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
        run = on_this_machine
    # Closing the generator takes the lab down at once, whatever ended the demo.
    with contextlib.closing(run(install, results, steps)) as rows:
        found = list(rows)
    print_summary(found, install)


def main() -> int:
    """Read the options and run the demo. Every error ends it with one line."""
    parser = argparse.ArgumentParser(description="Compare the MPI default with Stretto, also in a training.")
    parser.add_argument("--mpi", choices=[flavor.value for flavor in Flavor])
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder for the plots")
    parser.add_argument("--steps", type=int, default=30, help="steps of the training on the lab")
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
