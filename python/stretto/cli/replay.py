# SPDX-License-Identifier: Apache-2.0
"""`stretto replay`: a training on a cluster that one does not have, by each way of doing its allreduces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.options import parse_specs
from stretto.cli.platform_options import FromMachine, PlatformName, Selector
from stretto.replay.durations import CallSource, Site
from stretto.replay.horovod import Settings
from stretto.replay.output import Comparison, Drawing, draw_replay, print_replay, replay_json
from stretto.replay.play import STEPS, Outcome, Setup
from stretto.replay.play import replay as play
from stretto.replay.source import load_source
from stretto.simulate.platforms import find_platform
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.native import library_name
from stretto.support.console import progress_bar
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_all, write_atomically
from stretto.support.units import parse_bytes, parse_seconds
from stretto.training.file import MeasuredTraining, load_training

_SPECS = "native,ring,ring:segments=4,auto"
_SWEPT_SPECS = "ring,ring:segments=2,ring:segments=4,ring:segments=8,ring:segments=16"
_SWEPT_FUSION = tuple(4**step << 20 for step in range(5))
_USUAL_BATCH = 64


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where it is replayed, but for the number of nodes."""

    platform: str | None
    machine: str | None
    ppn: int
    selector: str
    calls: CallSource

    def site(self, nodes: int | None) -> Site:
        """With so many nodes, or as many as are usual."""
        found, count = find_platform(self.platform, self.machine, nodes, self.ppn)
        return Site(found, count, self.ppn, self.selector, self.calls)


def replay(
    source: Annotated[
        str, typer.Argument(help="A file of stretto profile, or alexnet, resnet50, resnet110 or vgg11.")
    ],
    platform: PlatformName = None,
    from_machine: FromMachine = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Number of nodes; 8 unless given.")] = None,
    ppn: Annotated[int, typer.Option(min=1, help="Workers on each node.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Images of a worker in a step.")] = _USUAL_BATCH,
    compute_speed: Annotated[
        str | None,
        typer.Option(
            metavar="SPEED",
            help="Of a worker, without communication: 41images/s, 300gflops, or 2x that of the profile.",
        ),
    ] = None,
    specs: Annotated[
        str | None,
        typer.Option(
            help=f"Ways to do the allreduces of gradients: {_SPECS} unless given. `native` is what "
            "--selector says, `auto` Stretto's built-in rule."
        ),
    ] = None,
    selector: Selector = "openmpi",
    calls: Annotated[
        CallSource,
        typer.Option(help="What says how long a call takes: SMPI, or the model, which is nearer to TCP."),
    ] = CallSource.SMPI,
    fusion: Annotated[
        str, typer.Option(help="Horovod's fusion buffer (HOROVOD_FUSION_THRESHOLD).")
    ] = "128MiB",
    cycle: Annotated[str, typer.Option(help="Horovod's cycle (HOROVOD_CYCLE_TIME).")] = "1ms",
    imbalance: Annotated[
        float,
        typer.Option(min=0, max=1, help="Standard deviation of the workers' compute time: 0.02 is 2 %."),
    ] = 0.0,
    interference: Annotated[
        float, typer.Option(min=0, help="How much longer computing takes beside communication: 0.1 is 10 %.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Of --imbalance.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Steps to play, after one to warm up.")] = STEPS,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Fusion buffers of 1 to 256 MiB with each of --specs (segments).")
    ] = False,
    scaling: Annotated[
        str | None, typer.Option(metavar="NODES", help="Numbers of nodes, as 2,4,8 or 2..256 (doubling).")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A measured training (stretto train): print the replay's error."),
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures here.")] = None,
    png_file: Annotated[Path | None, typer.Option("--png", help="Draw images/s and messages here.")] = None,
) -> None:
    """Replay a training by Horovod's logic on a simulated cluster: stretto replay alexnet --platform altec.

    Gradients come as profiled or as a network's layers take, are merged and summed as Horovod does, and the
    sums take what SimGrid's SMPI says.
    """
    check_files([json_file], [png_file])
    if sum((sweep, scaling is not None, against is not None)) > 1:
        raise StrettoError("--sweep, --scaling, --against: give one of them")
    measured = load_training(against) if against else None
    if measured:
        nodes, ppn, batch = measured.nodes, measured.ranks // measured.nodes, measured.batch
        selector = measured.selector or selector
    cluster = Cluster(platform, from_machine, ppn, selector, calls)
    settings = Settings(parse_bytes(fusion), parse_seconds(cycle), interference)
    chosen = _specs(specs or (_SWEPT_SPECS if sweep else _SPECS), calls)
    counts = parse_nodes(scaling) if scaling else [nodes]
    sites = [cluster.site(count) for count in counts]
    where = sites[0]
    if measured and measured.compute_seconds and compute_speed is None:
        compute_speed = f"{batch / measured.compute_seconds:.9f}images/s"
    its = load_source(source, batch, compute_speed, from_machine or where.platform.name)
    usual = Setup(its.gradients, batch, where, "native", (), settings, imbalance, seed, steps)
    if measured:
        setups = [replace(usual, spec=one) for one in _specs_of(measured, calls)]
    elif sweep:
        setups = [
            replace(usual, spec=spec, settings=replace(settings, fusion=size))
            for size in sorted({*_SWEPT_FUSION, settings.fusion})
            for spec in dict.fromkeys(["native", *chosen])
        ]
    else:
        setups = [replace(usual, spec=spec, site=site) for site in sites for spec in chosen]
    with progress_bar("simulating") as progress:
        outcomes = play(setups, progress)
    comparison = _comparison(measured, outcomes) if measured else None
    kind = Drawing.SWEEP if sweep else Drawing.SCALING if scaling else Drawing.SPECS
    print_replay(its, outcomes, kind, settings, comparison)

    def write() -> None:
        if json_file:
            write_atomically(json_file, replay_json(sys.argv, its, outcomes, comparison))

    write_all(write, lambda: draw_replay(its, outcomes, kind, comparison, png_file) if png_file else None)


def parse_nodes(text: str) -> list[int]:
    """`2,4,9` or `2..256` (2, 4, 8, …) as numbers of nodes, ascending and each once."""
    counts: set[int] = set()
    for part in text.split(","):
        first, dots, last = (one.strip() for one in part.partition(".."))
        ends = [first, last] if dots else [first]
        if not all(one.isdecimal() and int(one) > 0 for one in ends) or int(ends[-1]) < int(first):
            raise StrettoError(f"--scaling {text}: expected numbers of nodes, as 2,4,9 or 2..256 (doubling)")
        count = int(first)
        while count <= int(ends[-1]):
            counts.add(count)
            count *= 2
    return sorted(counts)


def _specs(text: str, calls: CallSource) -> list[str]:
    specs = parse_specs(text, COLLECTIVES["allreduce"])
    for spec in specs:
        if library_name(spec) is not None and calls is CallSource.MODEL:
            raise StrettoError(
                f"--specs {spec}: the model knows libraries by their choice only; --calls smpi"
            )
        if not _is_simulated(spec):
            raise StrettoError(
                f"--specs {spec}: SMPI's non-blocking collectives imitate no library's; the papers' NBLx4 of "
                "a ring is ring:segments=4"
            )
    return specs


def _is_simulated(spec: str) -> bool:
    return spec == "native" or library_name(spec) is not None or not spec.startswith("native")


def _specs_of(measured: MeasuredTraining, calls: CallSource) -> list[str]:
    found = list(dict.fromkeys(one.spec for one in measured.lines if _is_simulated(one.spec)))
    return _specs(",".join(found), calls) if found else ["native"]


def _comparison(measured: MeasuredTraining, outcomes: Sequence[Outcome]) -> list[Comparison]:
    by_spec = {one.setup.spec: one.images_per_second for one in outcomes}
    return [
        Comparison(one.label, one.spec, one.images_per_second, by_spec.get(one.spec))
        for one in measured.lines
    ]
