# SPDX-License-Identifier: Apache-2.0
"""Plans the trainings that one call of `stretto replay` plays: one for each spec, node count or buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from stretto.bench.options import parse_specs
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.native import NATIVE, library_name
from stretto.support.errors import StrettoError
from stretto_research.replay.durations import CallSource, Site
from stretto_research.replay.horovod import Settings
from stretto_research.replay.play import Setup
from stretto_research.replay.source import Source, load_source
from stretto_research.simulate.platforms import find_platform
from stretto_research.training.file import MeasuredTraining

USUAL_SPECS = "native,ring,ring:segments=4,auto"
_SWEPT_SPECS = "ring,ring:segments=2,ring:segments=4,ring:segments=8,ring:segments=16"
_SWEPT_FUSION = tuple(4**step << 20 for step in range(5))


class Varies(Enum):
    """What differs between the trainings of a plan, besides the spec."""

    SPEC = auto()
    """Nothing else."""
    NODES = auto()
    FUSION = auto()
    """The size of the fusion buffer."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The simulated cluster, without its number of nodes."""

    platform: str | None
    machine: str | None
    ppn: int
    selector: str
    calls: CallSource

    def site(self, nodes: int | None) -> Site:
        """The cluster with this number of nodes; None for the number that is usual for the platform."""
        found, count = find_platform(self.platform, self.machine, nodes, self.ppn)
        return Site(found, count, self.ppn, self.selector, self.calls)


@dataclass(frozen=True, slots=True)
class Request:
    """The trainings to play, as the options of `stretto replay` describe them."""

    source: str
    cluster: Cluster
    nodes: int | None
    batch: int
    compute_speed: str | None
    specs: str | None
    settings: Settings
    imbalance: float
    seed: int
    steps: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The trainings to play."""

    source: Source
    setups: list[Setup]
    settings: Settings
    varies: Varies


def plan_specs(request: Request) -> Plan:
    """Play each spec once."""
    specs = _specs(request.specs or USUAL_SPECS, request.cluster.calls)
    site = request.cluster.site(request.nodes)
    source, usual = _usual(request, site)
    return Plan(source, [replace(usual, spec=one) for one in specs], request.settings, Varies.SPEC)


def plan_scaling(request: Request, counts: Sequence[int]) -> Plan:
    """Play each spec on each number of nodes."""
    specs = _specs(request.specs or USUAL_SPECS, request.cluster.calls)
    sites = [request.cluster.site(count) for count in counts]
    source, usual = _usual(request, sites[0])
    setups = [replace(usual, spec=spec, site=site) for site in sites for spec in specs]
    return Plan(source, setups, request.settings, Varies.NODES)


def plan_sweep(request: Request) -> Plan:
    """Play each spec, and `native`, with several fusion buffers."""
    specs = _specs(request.specs or _SWEPT_SPECS, request.cluster.calls)
    site = request.cluster.site(request.nodes)
    source, usual = _usual(request, site)
    setups = [
        replace(usual, spec=spec, settings=replace(request.settings, fusion=size))
        for size in sorted({*_SWEPT_FUSION, request.settings.fusion})
        for spec in dict.fromkeys([NATIVE, *specs])
    ]
    return Plan(source, setups, request.settings, Varies.FUSION)


def plan_measured(request: Request, measured: MeasuredTraining) -> Plan:
    """Play the specs of a measured training, with its ranks, batch and library."""
    cluster = replace(
        request.cluster,
        ppn=measured.ranks // measured.nodes,
        selector=measured.selector or request.cluster.selector,
    )
    speed = request.compute_speed
    if measured.compute_seconds and speed is None:
        speed = f"{measured.batch / measured.compute_seconds:.9f}images/s"
    request = replace(
        request, cluster=cluster, nodes=measured.nodes, batch=measured.batch, compute_speed=speed
    )
    source, usual = _usual(request, cluster.site(measured.nodes))
    specs = _specs_of(measured, cluster.calls)
    return Plan(source, [replace(usual, spec=one) for one in specs], request.settings, Varies.SPEC)


def _usual(request: Request, site: Site) -> tuple[Source, Setup]:
    """The source, and its training on this site by `native`."""
    platform = request.cluster.machine or site.platform.name
    source = load_source(request.source, request.batch, request.compute_speed, platform)
    setup = Setup(
        source.gradients,
        request.batch,
        site,
        NATIVE,
        settings=request.settings,
        imbalance=request.imbalance,
        seed=request.seed,
        steps=request.steps,
    )
    return source, setup


def parse_nodes(text: str) -> list[int]:
    """Numbers of nodes, ascending, from `2,4,9` or `2..256` (2, 4, 8, …)."""
    counts: set[int] = set()
    for part in text.split(","):
        first, dots, last = (one.strip() for one in part.partition(".."))
        ends = [first, last] if dots else [first]
        if not all(one.isdecimal() and int(one) > 0 for one in ends) or int(ends[-1]) < int(first):
            raise StrettoError(
                f"--scaling {text}: expected numbers of nodes, such as 2,4,9 or 2..256 (doubling)"
            )
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
                f"--specs {spec}: the model knows only what a library chooses by itself; give --calls smpi"
            )
        if not _is_simulated(spec):
            raise StrettoError(
                f"--specs {spec}: SMPI imitates no library's non-blocking collectives; for the papers' NBLx4 "
                "of a ring, give ring:segments=4"
            )
    return specs


def _is_simulated(spec: str) -> bool:
    return spec == "native" or library_name(spec) is not None or not spec.startswith("native")


def _specs_of(measured: MeasuredTraining, calls: CallSource) -> list[str]:
    found = list(dict.fromkeys(one.spec for one in measured.lines if _is_simulated(one.spec)))
    return _specs(",".join(found), calls) if found else ["native"]
