# SPDX-License-Identifier: Apache-2.0
"""`stretto train`: images per second of a real framework, with several specs in turns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.targets import Place
from stretto.cli.completion import complete_specs
from stretto.cli.options import LabName, LabPpn, MpiName, OnLab, Provider, Ranks
from stretto.cli.program import LauncherCommand, program_of
from stretto.cli.result_options import AsJson, ResultFile, picture_file
from stretto.lab.cluster import DEFAULT_NAME
from stretto.support.console import announce, print_result, progress_bar
from stretto.support.files import check_files, write_all, write_atomically
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.units import parse_seconds
from stretto_research.networks.architectures import ARCHITECTURES
from stretto_research.training.lines import USUAL
from stretto_research.training.measure import prepare
from stretto_research.training.plot import draw_training
from stretto_research.training.request import Backend, Compression, Data, Framework, Request
from stretto_research.training.table import print_training

COMMAND_CLASS = LauncherCommand


def train(
    context: typer.Context,
    model: Annotated[str, typer.Option(metavar="|".join(ARCHITECTURES), help="The network.")],
    framework: Annotated[
        Framework, typer.Option(help="tensorflow with Horovod, or pytorch with DistributedDataParallel.")
    ] = Framework.TENSORFLOW,
    data: Annotated[
        Data | None,
        typer.Option(help="The images. Default: those that the network is made for.", show_default=False),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Images per rank in a step.")] = 1,
    steps: Annotated[int, typer.Option(min=1, help="Steps with one spec before the turn of the next.")] = 3,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of each spec.")] = 6,
    specs: Annotated[
        str,
        typer.Option(
            help="Specs of MPI_Allreduce. Default: the MPI default, RNG, NBL, NBLx4 and Stretto's choice.",
            show_default=False,
            autocompletion=complete_specs,
        ),
    ] = USUAL,
    without: Annotated[
        bool, typer.Option("--without-stretto", help="Only the MPI default, without Stretto in the job.")
    ] = False,
    compression: Annotated[Compression, typer.Option(help="Compression of gradients.")] = Compression.NONE,
    backend: Annotated[Backend, typer.Option(help="Backend of PyTorch.")] = Backend.STRETTO,
    compute_steps: Annotated[
        int, typer.Option(min=0, help="First steps without communication, to find its share.")
    ] = 3,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Compute threads of each rank. Default: its share of the cores."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of parameters and images.")] = 1,
    learning_rate: Annotated[float, typer.Option(min=0, help="Learning rate of SGD (momentum 0.9).")] = 0.01,
    python: Annotated[
        str | None,
        typer.Option(
            metavar="PROGRAM", help="The Python interpreter that has the framework. Default: this one."
        ),
    ] = None,
    mpi_name: MpiName = None,
    ranks: Ranks = None,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    ppn: LabPpn = 1,
    provider: Provider = "ucx",
    patience: Annotated[
        str, typer.Option(metavar="TIME", help="End the job if no step ends for this long.")
    ] = "15min",
    as_json: AsJson = False,
    output: ResultFile = None,
    png_file: Annotated[
        Path | None,
        picture_file("images per second and losses"),
    ] = None,
) -> None:
    """Train a network data-parallel, by the MPI default and others in turns; print images per second."""
    request = Request(
        model, framework, data, batch, steps, rounds, specs, without, compression, backend, compute_steps,
        threads, seed, learning_rate,
    )  # fmt: skip
    place = Place(program_of(context), mpi_name, ranks, lab_name if lab else None, provider, ppn)
    check_files([output], [png_file])
    measurement = prepare(request, place, python, parse_seconds(patience))
    training = measurement.training

    def report() -> None:
        text = training.text()
        print_result(as_json, lambda: text, lambda: print_training(training))
        write_all(
            lambda: write_atomically(output, text) if output else None,
            lambda: draw_training(training, png_file) if png_file else None,
        )
        announce(output, png_file, as_json=as_json)

    try:
        with progress_bar("training") as progress:
            measurement.run(progress)
    except INTERRUPTIONS as ended:
        if training.has_rounds:
            report()
        else:
            name = signal_of(ended).name
            print(
                f"stretto: {name} came before the end of the first round: nothing was written",
                file=sys.stderr,
            )
        raise
    report()
