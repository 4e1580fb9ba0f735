# SPDX-License-Identifier: Apache-2.0
"""`stretto calibrate`: measure the figures of a cluster that the models need."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.bench.targets import Place, find_target
from stretto.calibrate.output import display_progress, print_machine
from stretto.calibrate.plot import plot_fit
from stretto.calibrate.session import fit_machine, measure, read_machine
from stretto.calibrate.simulation import Shape, simulate
from stretto.cli.options import LabName, LauncherLine, MpiName, OnLab, Ppn, Provider
from stretto.cli.result_options import AsJson, picture_file
from stretto.lab.cluster import DEFAULT_NAME
from stretto.model.machine_file import file_text
from stretto.results.runs import describe_machine
from stretto.support.console import print_result
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_atomically
from stretto.support.units import parse_seconds

_LEAST_SECONDS = 5.0
_MOST_USUAL_RANKS = 16
_MOST_LETTERS = 500


def calibrate(
    launch: LauncherLine = None,
    mpi_name: MpiName = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            "--ranks",
            "--np",
            "-n",
            min=2,
            help="Ranks. Default: one per core of this node, or all of the lab.",
        ),
    ] = None,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    ppn: Ppn = 1,
    provider: Provider = "ucx",
    simulated: Annotated[
        str | None,
        typer.Option(
            metavar="MACHINE", help="Measure nothing: simulate the points of this machine, a file or a name."
        ),
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, help="Number of simulated nodes.")] = 8,
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Noise of simulated points: 0.02 is 2 %.")
    ] = 0.02,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise, and of the bootstrap.")] = 1,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Time for the calibration: 90s, 3m.")] = "3m",
    output: Annotated[Path, typer.Option("--output", "-o", help="Machine file to write.")] = Path(
        "machine.json"
    ),
    png_file: Annotated[Path | None, picture_file("the points against their fits")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the machine.")] = None,
    description: Annotated[str, typer.Option(help="Description of the machine in one line.")] = "",
    as_json: AsJson = False,
) -> None:
    """Measure latencies, bandwidths, limits and arithmetic of a cluster, and write them as a machine file."""
    if simulated is not None and (launch or lab):
        raise StrettoError("--simulated measures nothing; give it without --lab and -- LAUNCHER")
    place = Place(launch or [], mpi_name, ranks, lab_name if lab else None, provider, ppn)
    seconds = _parse_budget(budget)
    check_files([output], [png_file])
    for option, text in (("--name", name or ""), ("--description", description)):
        if not text.isprintable() or len(text) > _MOST_LETTERS:
            raise StrettoError(f"{option} {text[:40]!r}: expected one line of up to {_MOST_LETTERS} letters")
    where: dict[str, Any]
    interruption: BaseException | None = None
    if simulated is not None:
        source = read_machine(simulated)
        shape = Shape(nodes=nodes, ppn=ppn, noise=noise, seed=seed)
        measured, where = simulate(source, shape), {"simulated": source.name}
        usual = f"{source.name}, simulated"
    else:
        target = find_target(place, usual_ranks=_usual_ranks())
        measured, interruption = measure(target, seconds, display_progress())
        launcher = f"lab {lab_name}" if lab else " ".join(launch or ["one node"])
        where = {"launcher": launcher, "machine": describe_machine()}
        usual = f"lab of {measured.nodes} nodes" if lab else platform.node()
    calibrated = fit_machine(measured, where, name or usual, description, seed, interruption)
    machine = calibrated.machine
    text = file_text(machine)
    write_atomically(output, text)
    print_result(as_json, lambda: text, lambda: print_machine(calibrated, output))
    if png_file:
        plot_fit(measured, calibrated.found, f"{machine.name}: {machine.description}", png_file)
    if interruption:
        raise interruption


def _usual_ranks() -> int:
    return min(max(2, len(os.sched_getaffinity(0))), _MOST_USUAL_RANKS)


def _parse_budget(text: str) -> float:
    seconds = parse_seconds(text)
    if seconds < _LEAST_SECONDS:
        raise StrettoError(
            f"--budget {text} is too short to measure anything; give {_LEAST_SECONDS:.0f}s or more"
        )
    return seconds
