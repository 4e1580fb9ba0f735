# SPDX-License-Identifier: Apache-2.0
"""`stretto replay`: a training on a simulated cluster, with several specs for its allreduces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.completion import complete_specs
from stretto.cli.result_options import AsJson, ResultFile, picture_file
from stretto.support.console import announce, print_result, progress_bar
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_all, write_atomically
from stretto.support.units import parse_bytes, parse_seconds
from stretto_research.cli.platform_options import FromMachine, PlatformName, Selector
from stretto_research.replay.comparison import compare
from stretto_research.replay.durations import CallSource
from stretto_research.replay.file import replay_json
from stretto_research.replay.horovod import Settings
from stretto_research.replay.plan import (
    USUAL_SPECS,
    Cluster,
    Request,
    parse_nodes,
    plan_measured,
    plan_scaling,
    plan_specs,
    plan_sweep,
)
from stretto_research.replay.play import STEPS, play_all
from stretto_research.replay.plot import draw_replay
from stretto_research.replay.table import print_replay
from stretto_research.training.file import load_training


def replay(
    source: Annotated[
        str, typer.Argument(help="A file of stretto profile, or alexnet, resnet50, resnet110 or vgg11.")
    ],
    platform: PlatformName = None,
    from_machine: FromMachine = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Number of nodes. Default: 8.")] = None,
    ppn: Annotated[int, typer.Option(min=1, help="Workers on each node.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Images per worker in a step.")] = 64,
    compute_speed: Annotated[
        str | None,
        typer.Option(
            metavar="SPEED",
            help="Compute speed of a worker: 41images/s, 300gflops, or 2x (twice that of the profile).",
        ),
    ] = None,
    specs: Annotated[
        str | None,
        typer.Option(
            help=f"Specs for the allreduces of gradients. Default: {USUAL_SPECS}. `native` is the library of "
            "--selector, `auto` Stretto's built-in rule.",
            autocompletion=complete_specs,
        ),
    ] = None,
    selector: Selector = "openmpi",
    calls: Annotated[
        CallSource,
        typer.Option(help="Time calls by SMPI, or by the model, which is closer to TCP."),
    ] = CallSource.SMPI,
    fusion: Annotated[
        str, typer.Option(help="Horovod's fusion buffer (HOROVOD_FUSION_THRESHOLD).")
    ] = "128MiB",
    cycle: Annotated[str, typer.Option(help="Horovod's cycle time (HOROVOD_CYCLE_TIME).")] = "1ms",
    imbalance: Annotated[
        float,
        typer.Option(min=0, max=1, help="Standard deviation of the workers' compute time: 0.02 is 2 %."),
    ] = 0.0,
    interference: Annotated[
        float, typer.Option(min=0, help="Slowdown of computation during communication: 0.1 is 10 %.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of --imbalance.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Steps to play, after one for warm-up.")] = STEPS,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Try each of --specs with fusion buffers of 1 to 256 MiB.")
    ] = False,
    scaling: Annotated[
        str | None,
        typer.Option(metavar="NODES", help="Play on several numbers of nodes: 2,4,8 or 2..256 (doubling)."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with a training measured by stretto train."),
    ] = None,
    as_json: AsJson = False,
    output: ResultFile = None,
    png_file: Annotated[Path | None, picture_file("images/s and messages")] = None,
) -> None:
    """Replay a training by Horovod's logic on a simulated cluster: stretto replay alexnet --platform altec.

    Gradients become ready as profiled, or as a network's layers compute. They are merged and summed as
    Horovod does. SimGrid's SMPI times the allreduces.
    """
    check_files([output], [png_file])
    if sum((sweep, scaling is not None, against is not None)) > 1:
        raise StrettoError("--sweep, --scaling, --against: give one of them")
    cluster = Cluster(platform, from_machine, ppn, selector, calls)
    settings = Settings(parse_bytes(fusion), parse_seconds(cycle), interference)
    request = Request(source, cluster, nodes, batch, compute_speed, specs, settings, imbalance, seed, steps)
    measured = load_training(against) if against else None
    if measured:
        plan = plan_measured(request, measured)
    elif scaling:
        plan = plan_scaling(request, parse_nodes(scaling))
    else:
        plan = plan_sweep(request) if sweep else plan_specs(request)
    with progress_bar("simulating") as progress:
        outcomes = play_all(plan.setups, progress)
    comparison = compare(measured, outcomes) if measured else None
    text = replay_json(sys.argv, plan.source, outcomes, comparison)
    print_result(as_json, lambda: text, lambda: print_replay(plan, outcomes, comparison))
    write_all(
        lambda: write_atomically(output, text) if output else None,
        lambda: draw_replay(plan, outcomes, comparison, png_file) if png_file else None,
    )
    announce(output, png_file, as_json=as_json)
