# SPDX-License-Identifier: Apache-2.0
"""Replays of both papers' trainings on ALTEC's CPUs: TensorFlow and Horovod on 8 or 9 nodes.

The compute speed of a node comes from the CNN-training paper's Table 3, images/s with AUTO (the MPI default)
on 8 nodes: the replay with this compute time gives that figure. We take it for the figure of all 8 nodes
together: on one node, VGG11's 58 images/s would be 2.6 TFLOP/s, more than two Xeon Gold 5120 can do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stretto.plots.panels import SIZE, Axis, Panel, Scale
from stretto.support.units import format_percent, format_seconds
from stretto_research.networks.gradients import NETWORKS, histogram, message_sizes
from stretto_research.replay.comparison import messages_per_step
from stretto_research.replay.durations import Site
from stretto_research.replay.play import Outcome, Setup, play_all
from stretto_research.replay.source import (
    PAPERS_BATCH,
    PAPERS_IMAGES,
    PAPERS_NODES,
    PAPERS_SETTINGS,
    calibrate,
    of_network,
)
from stretto_research.reproduce.figure import Bench, Claim, Figure, Result, judged
from stretto_research.reproduce.libraries import OF_LIBRARY
from stretto_research.reproduce.lines import RNG, RSA, range_text
from stretto_research.simulate.platforms import load_platform

_NAMES = tuple(PAPERS_IMAGES)
_TICKS = {float(place): NETWORKS[name]().name for place, name in enumerate(_NAMES)}
_NETWORK_AXIS = Axis("", Scale.LINEAR)
_IMAGES = Axis("images/s", Scale.LINEAR)
_AUTO = "BL(AUTO)"
_WAYS = {
    _AUTO: "native",
    "BL(RNG)": RNG,
    "NBL(AUTO)": RSA,
    "NBL(RNG)": RNG,
    "NBLx4(AUTO)": f"{RSA}:segments=4",
    "NBLx4(RNG)": f"{RNG}:segments=4",
}
_SETTINGS = (
    "Compute speed from Table 3 of the CNN-training paper (AUTO, 64 images, 8 nodes); Horovod with a fusion "
    "buffer of 64 MiB and a cycle of 5 ms."
)


@dataclass(frozen=True, slots=True)
class _Case:
    """One training. `images`: the images that a worker processes per second, without communication."""

    network: str
    images: float
    batch: int
    site: Site
    spec: str
    others: tuple[str, ...] = ()

    def setup(self, steps: int) -> Setup:
        source = of_network(NETWORKS[self.network](), self.batch / self.images, "")
        return Setup(
            source.gradients, self.batch, self.site, self.spec, self.others, PAPERS_SETTINGS, steps=steps
        )


def _play(bench: Bench, cases: Sequence[_Case]) -> dict[_Case, Outcome]:
    steps = 3 if bench.quick else 10
    return dict(zip(cases, play_all([one.setup(steps) for one in cases], bench.progress), strict=True))


def _site(nodes: int, selector: str = "openmpi") -> Site:
    return _SITES.setdefault((nodes, selector), Site(load_platform("altec", nodes), nodes, selector=selector))


_SITES: dict[tuple[int, str], Site] = {}
"""Sites by nodes and selector. Replays of one site share its simulations."""


def _percent(gain: float) -> str:
    return format_percent(gain, 1, signed=True)


def fig8(bench: Bench) -> Result:
    """Count the messages of trainings before and after Horovod merges them."""
    speeds = calibrate(_NAMES, bench.progress)
    cases = {name: _Case(name, speeds[name], PAPERS_BATCH, _site(PAPERS_NODES), "native") for name in _NAMES}
    outcomes = _play(bench, list(cases.values()))
    panels, counts = [], {}
    for name, case in cases.items():
        network = NETWORKS[name]()
        before = {float(one.begin): float(one.messages) for one in histogram(message_sizes(network))}
        after = messages_per_step(outcomes[case])
        begins = sorted({*before, *map(float, after)})
        panels.append(
            Panel(
                f"{network.name}",
                {
                    "gradients": {begin: before.get(begin, 0.0) for begin in begins},
                    "after Horovod merged them": {begin: after.get(int(begin), 0.0) for begin in begins},
                },
                SIZE,
                Axis("messages a step", Scale.LINEAR),
                bars=True,
            )
        )
        counts[network.name] = (sum(before.values()), sum(after.values()))
    text = ", ".join(f"{name} {before:.0f} -> {after:.0f}" for name, (before, after) in counts.items())
    return Result(
        panels,
        [
            judged(
                "Horovod groups small transfers, so there are fewer messages than layers",
                text,
                all(after < before for before, after in counts.values()),
            )
        ],
        remark=f"{_SETTINGS} {PAPERS_BATCH} images a node, 8 nodes.",
    )


def _gains(outcomes: Mapping[_Case, Outcome], cases: Mapping[str, _Case]) -> dict[str, float]:
    """Return the speedup of each way over the blocking MPI default."""
    auto = outcomes[cases[_AUTO]].images_per_second
    return {label: outcomes[case].images_per_second / auto for label, case in cases.items()}


_NOT_THE_NETWORK = (
    "the rest of the paper's gain must be what waiting costs the computation (polling threads, late "
    "workers), which is not simulated"
)
_Pair = tuple[Outcome, Outcome]
"""The outcomes of one training by AUTO and by another way."""


def _if_not_hidden(pair: _Pair) -> float:
    """Return the gain if all communication came after the computation, which bounds every gain."""
    auto, other = (one.compute_seconds + one.communication_seconds for one in pair)
    return auto / other - 1


def _why_no_more(pairs: Sequence[_Pair]) -> str:
    """Explain by the training that could gain most why the papers' gains are not reproduced."""
    most = max(pairs, key=_if_not_hidden)
    auto = most[0]
    part = 100 * auto.communication_seconds / auto.step_seconds
    return (
        f"at Table 3's speed the allreduces by AUTO take {part:.2g} % of a step "
        f"({format_seconds(auto.communication_seconds)}), nearly all hidden; with nothing hidden the gain "
        f"would be {_percent(_if_not_hidden(most))}"
    )


def fig9(bench: Bench) -> Result:
    """Compare trainings with the training by blocking AUTO calls."""
    speeds = calibrate(_NAMES, bench.progress)
    groups = {
        (nodes, batch, name): {
            label: _Case(name, speeds[name], batch, _site(nodes), spec) for label, spec in _WAYS.items()
        }
        for batch in (32, 64)
        for nodes in (8, 9)
        for name in _NAMES
    }
    outcomes = _play(bench, [case for group in groups.values() for case in group.values()])
    gains = {key: _gains(outcomes, group) for key, group in groups.items()}
    panels = [
        Panel(
            f"{batch} images a node, {nodes} nodes",
            {
                label: {float(place): gains[nodes, batch, name][label] for place, name in enumerate(_NAMES)}
                for label in _WAYS
                if label != _AUTO
            },
            _NETWORK_AXIS,
            Axis("speed-up over BL(AUTO)", Scale.LINEAR),
            bars=True,
            ticks=_TICKS,
        )
        for batch in (32, 64)
        for nodes in (8, 9)
    ]
    what_if, reached = _faster_nodes(bench, speeds)
    best = {name: max(max(gains[key].values()) for key in groups if key[2] == name) - 1 for name in _NAMES}
    pairs = {
        name: [
            (outcomes[group[_AUTO]], outcomes[case])
            for key, group in groups.items()
            for case in group.values()
            if key[2] == name
        ]
        for name in _NAMES
    }
    order = sorted(_NAMES, key=lambda name: -best[name])
    return Result(
        [*panels, *what_if],
        [
            *_range_claims(best, pairs),
            judged(
                "ResNet110 gains most, VGG11 and ResNet50 least",
                ", ".join(f"{NETWORKS[name]().name} {_percent(best[name])}" for name in order),
                order[0] == "resnet110" and set(order[-2:]) == {"vgg11", "resnet50"},
                why="only communication that is not hidden can gain: AlexNet has the most bytes for its "
                "operations, ResNet110 a thirtieth of its bytes",
            ),
            judged(
                "pipelining improves training significantly",
                f"nodes that compute faster: {reached}",
                min(gains[key]["NBLx4(RNG)"] for key in groups) > 1.02,
                partly=True,
                why=(
                    "at Table 3's speed all communication is hidden; only faster nodes wait for it (last "
                    "panels)"
                ),
            ),
        ],
        remark=f"{_SETTINGS} BL(RNG) and NBL(RNG) are the same ring. Last panels: faster nodes.",
    )


def _range_claims(best: Mapping[str, float], pairs: Mapping[str, Sequence[_Pair]]) -> list[Claim]:
    reported = {
        "alexnet": ("AlexNet gains up to 22 %", 0.22),
        "resnet50": ("ResNet50 gains up to 22 %", 0.22),
        "vgg11": ("VGG11 gains up to 15 %", 0.15),
        "resnet110": ("ResNet110 gains 50 to 60 %", 0.5),
    }
    return [
        judged(
            text,
            f"up to {_percent(best[name])}",
            0.7 * paper <= best[name] <= 1.3 * paper,
            why=_why_no_more(pairs[name]) + (f"; {_NOT_THE_NETWORK}" if name == "alexnet" else ""),
        )
        for name, (text, paper) in reported.items()
    ]


def _faster_nodes(bench: Bench, speeds: Mapping[str, float]) -> tuple[list[Panel], str]:
    """Return panels and a text about the gains of NBLx4(RNG) on nodes that compute faster."""
    factors = tuple(8.0**step for step in range(4)) if bench.quick else tuple(2.0**step for step in range(10))
    cases = {
        (nodes, name, factor): {
            label: _Case(name, factor * speeds[name], 64, _site(nodes), _WAYS[label])
            for label in (_AUTO, "NBLx4(RNG)")
        }
        for nodes in (8, 9)
        for name in _NAMES
        for factor in factors
    }
    outcomes = _play(bench, [case for group in cases.values() for case in group.values()])
    curves = {
        (nodes, name): {
            factor: _gains(outcomes, cases[nodes, name, factor])["NBLx4(RNG)"] for factor in factors
        }
        for nodes in (8, 9)
        for name in _NAMES
    }
    panels = [
        Panel(
            f"nodes that compute faster, {nodes} nodes, 64 images",
            {NETWORKS[name]().name: curves[nodes, name] for name in _NAMES},
            Axis("times as fast as Table 3 says", Scale.POWERS),
            Axis("speed-up of NBLx4(RNG)", Scale.LINEAR),
        )
        for nodes in (8, 9)
    ]
    text = "; ".join(
        f"{factor:g} times: "
        + ", ".join(
            f"{NETWORKS[name]().name} {range_text([curves[nodes, name][factor] for nodes in (8, 9)])}"
            for name in _NAMES
        )
        for factor in (8.0, max(factors))
    )
    return panels, text


def _libraries(
    bench: Bench, batches: Sequence[int]
) -> tuple[dict[tuple[str, int, str, str], _Case], dict[_Case, Outcome]]:
    """Replay trainings by AUTO and by BEST, which sends each message by the library's fastest algorithm."""
    speeds = calibrate(_NAMES, bench.progress)
    cases = {}
    for library, (selector, algorithms) in OF_LIBRARY.items():
        for batch in batches:
            for name in _NAMES:
                site = _site(PAPERS_NODES, selector)
                cases[library, batch, name, "AUTO"] = _Case(name, speeds[name], batch, site, "native")
                cases[library, batch, name, "BEST"] = _Case(
                    name, speeds[name], batch, site, "native", tuple(algorithms.values())
                )
    return cases, _play(bench, list(cases.values()))


def training_fig9(bench: Bench) -> Result:
    """Compare images per second by AUTO and BEST in three libraries."""
    cases, outcomes = _libraries(bench, (16, 32))
    panels = [
        Panel(
            f"{batch} images a node",
            {
                f"{library}-{which}": {
                    float(place): outcomes[cases[library, batch, name, which]].images_per_second
                    for place, name in enumerate(_NAMES)
                }
                for library in OF_LIBRARY
                for which in ("AUTO", "BEST")
            },
            _NETWORK_AXIS,
            _IMAGES,
            bars=True,
            ticks=_TICKS,
        )
        for batch in (16, 32)
    ]
    shares = {
        name: outcomes[cases["OpenMPI", 16, name, "AUTO"]].communication_seconds
        / outcomes[cases["OpenMPI", 16, name, "AUTO"]].step_seconds
        for name in _NAMES
    }
    text = ", ".join(f"{NETWORKS[name]().name} {100 * share:.2g} %" for name, share in shares.items())
    ordered = sorted(_NAMES, key=lambda name: -shares[name])
    return Result(
        panels,
        [
            judged(
                "AlexNet is bound by communication, VGG11 by computation, ResNet50 and ResNet110 lie between",
                f"allreduces beside a step of 16 images: {text}",
                ordered[0] == "alexnet" and ordered[-1] == "vgg11" and shares["alexnet"] > 0.5,
                partly=ordered[0] == "alexnet",
                why="AlexNet has the most communication for its computation, but at Table 3's speed nodes "
                "compute longer than they communicate; VGG11 sends twice AlexNet's bytes in six times its "
                "time, the ResNets hardly anything",
            )
        ],
        remark=f"{_SETTINGS} BEST: each message by the fastest algorithm of the library.",
    )


def training_fig10(bench: Bench) -> Result:
    """Compare BEST with AUTO in trainings."""
    batches = (16, 64) if bench.quick else (16, 32, 64)
    cases, outcomes = _libraries(bench, batches)

    def images(library: str, batch: int, name: str, which: str) -> float:
        return outcomes[cases[library, batch, name, which]].images_per_second

    panels = []
    own: dict[tuple[str, int], float] = {}
    for batch in batches:
        over_own = {
            library: {
                float(place): images(library, batch, name, "BEST") / images(library, batch, name, "AUTO")
                for place, name in enumerate(_NAMES)
            }
            for library in OF_LIBRARY
        }
        over_intel = {
            f"{library}-{which}": {
                float(place): images(library, batch, name, which) / images("IntelMPI", batch, name, "AUTO")
                for place, name in enumerate(_NAMES)
            }
            for library in OF_LIBRARY
            for which in ("AUTO", "BEST")
        }
        for title, curves in (("BEST over AUTO", over_own), ("over IntelMPI-AUTO", over_intel)):
            panels.append(
                Panel(
                    f"{title}, {batch} images a node",
                    curves,
                    _NETWORK_AXIS,
                    Axis("images/s, ratio", Scale.LINEAR),
                    bars=True,
                    ticks=_TICKS,
                )
            )
        own |= {(library, batch): max(over_own[library].values()) - 1 for library in OF_LIBRARY}
    most = {library: max(own[library, batch] for batch in batches) for library in OF_LIBRARY}
    pairs = {
        library: [
            (outcomes[cases[library, batch, name, "AUTO"]], outcomes[cases[library, batch, name, "BEST"]])
            for batch in batches
            for name in _NAMES
        ]
        for library in OF_LIBRARY
    }
    first, last = batches[0], batches[-1]
    return Result(
        panels,
        [
            judged(
                "BEST gains up to 40 % in IntelMPI and MPICH",
                f"IntelMPI {_percent(most['IntelMPI'])}, MPICH {_percent(most['MPICH'])}",
                min(most["IntelMPI"], most["MPICH"]) > 0.25,
                why=f"{_why_no_more([*pairs['MPICH'], *pairs['IntelMPI']])}; {_NOT_THE_NETWORK}",
            ),
            judged(
                "and up to 11 % in OpenMPI",
                _percent(most["OpenMPI"]),
                0.07 <= most["OpenMPI"] <= 0.15,
                why=_why_no_more(pairs["OpenMPI"]),
            ),
            judged(
                "the gains narrow as the batch grows",
                ", ".join(
                    f"{library} {_percent(own[library, first])} at {first}, {_percent(own[library, last])} "
                    f"at {last}"
                    for library in OF_LIBRARY
                ),
                all(own[library, first] >= own[library, last] for library in OF_LIBRARY),
                partly=own["MPICH", first] >= own["MPICH", last],
                why="the difference is within what the phase of Horovod's cycle changes",
            ),
        ],
        remark=f"{_SETTINGS} BEST: each message by the fastest algorithm of the library.",
    )


def table3(bench: Bench) -> Result:
    """Compare images per second on 8 CPUs by AUTO and BEST."""
    paper = {"alexnet": 337.0, "resnet50": 31.0, "resnet110": 197.0, "vgg11": 64.0}
    cases, outcomes = _libraries(bench, (PAPERS_BATCH,))
    auto, best = (
        {name: outcomes[cases["OpenMPI", PAPERS_BATCH, name, which]].images_per_second for name in _NAMES}
        for which in ("AUTO", "BEST")
    )
    rows = {"replayed AUTO": auto, "replayed BEST": best, "paper AUTO": PAPERS_IMAGES, "paper BEST": paper}
    return Result(
        [
            Panel(
                f"{PAPERS_BATCH} images a node, 8 nodes, OpenMPI",
                {
                    label: {float(place): row[name] for place, name in enumerate(_NAMES)}
                    for label, row in rows.items()
                },
                _NETWORK_AXIS,
                _IMAGES,
                bars=True,
                ticks=_TICKS,
            )
        ],
        [
            judged(
                f"{NETWORKS[name]().name}: from {PAPERS_IMAGES[name]:.0f} images/s with AUTO to "
                f"{paper[name]:.0f} with BEST ({_percent(paper[name] / PAPERS_IMAGES[name] - 1)})",
                f"{auto[name]:.0f} to {best[name]:.0f} ({_percent(best[name] / auto[name] - 1)})",
                abs(best[name] / paper[name] - 1) < 0.01,
                partly=abs(best[name] / paper[name] - 1) < 0.03,
                why=_why_no_more(
                    [
                        (
                            outcomes[cases["OpenMPI", PAPERS_BATCH, name, "AUTO"]],
                            outcomes[cases["OpenMPI", PAPERS_BATCH, name, "BEST"]],
                        )
                    ]
                ),
            )
            for name in _NAMES
        ],
        columns=1,
        remark=f"{_SETTINGS} So AUTO is the paper's figure; BEST is the result.",
    )


FIGURES = [
    Figure("pipelined", "fig8", "Messages of four trainings", fig8, in_ci=True),
    Figure("pipelined", "fig9", "Speed-up of trainings on 8 and 9 nodes", fig9),
    Figure("training", "fig9", "Images a second in three libraries", training_fig9),
    Figure("training", "fig10", "What BEST gains in trainings", training_fig10),
    Figure("training", "table3", "Images a second on 8 CPUs", table3, in_ci=True),
]
