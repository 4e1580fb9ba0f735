# SPDX-License-Identifier: Apache-2.0
"""The figures of the CNN-training paper: theory, the libraries' algorithms, and the messages of trainings.

Labels are the paper's. AUTO is the MPI default, and BEST is the library's fastest algorithm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stretto._core import ClosedForm, Machine, closed_forms
from stretto.model.walker import Call, Model, load_machine, machine_text
from stretto.plots.panels import SIZE, THROUGHPUT, Axis, Panel, Scale
from stretto.spec.topologies import flat_text
from stretto.support.units import format_bytes
from stretto_research.networks.gradients import NETWORKS, histogram, message_sizes
from stretto_research.reproduce.figure import Bench, Figure, Result, judged
from stretto_research.reproduce.libraries import LIN, OF_LIBRARY, SRG
from stretto_research.reproduce.lines import (
    GIB,
    KIB,
    MIB,
    RDB,
    RNG,
    RSA,
    Lines,
    large_size,
    range_text,
    simulate_lines,
    size_panel,
    speedups,
    throughput,
)
from stretto_research.simulate.jobs import ping_pong
from stretto_research.simulate.platforms import load_platform

_FORMULAS = ("RDB", "RSA", "LIN", "RNG", "SRG")
_SEGMENTS = 64


def _formulas() -> dict[str, ClosedForm]:
    by_label = {form.label: form for form in closed_forms()}
    return {label: by_label[label] for label in _FORMULAS}


def _machine(change: Callable[[dict[str, Any]], None] | None = None) -> Machine:
    """Return ALTEC with the paper's one arithmetic rate, and with `change` applied."""
    content = json.loads(machine_text("altec"))
    content["reduction"] = content["reduction"][:1]
    if change:
        change(content)
    return Machine(json.dumps(content))


def table1(bench: Bench) -> Result:
    """Compare the formulas with the schedules."""
    del bench
    ranks, size = 8, 64 * MIB
    machine = _machine()
    walker = Model(machine)
    specs = {"RDB": RDB, "RSA": RSA, "LIN": LIN, "RNG": RNG, "SRG": "segmented_ring"}
    said, walked = {}, {}
    for label, form in _formulas().items():
        said[label] = form.seconds(size, ranks, 1, _SEGMENTS, machine)
        call = Call("allreduce", size, flat_text(ranks))
        walked[label] = walker.predict(call, specs[label], engine=False).seconds
    ratios = {label: walked[label] / said[label] for label in said}
    order = list(enumerate(said))
    panel = Panel(
        f"time for {format_bytes(size)} on {ranks} nodes",
        {
            "formula": {float(index): said[label] for index, label in order},
            "schedule": {float(index): walked[label] for index, label in order},
        },
        Axis("algorithm", Scale.LINEAR),
        Axis("", Scale.SECONDS),
        bars=True,
        ticks=dict(enumerate(said)),
    )
    return Result(
        [panel],
        [
            judged(
                f"the cost of {label} is as in the table",
                f"schedule / formula {ratio:.3f}",
                abs(ratio - 1) < 0.03,
                partly=label == "LIN",
                why="an upper bound: the root's messages overlap in part" if label == "LIN" else "",
            )
            for label, ratio in ratios.items()
        ],
        columns=1,
        remark="By the schedule walker, which does not use the formulas, on ALTEC's figures.",
    )


def fig1(bench: Bench) -> Result:
    """Draw the theory over message size, nodes, bandwidth and arithmetic rate."""
    del bench
    forms = _formulas()
    size, nodes = 16 * MIB, 50

    def curves(xs: Sequence[float], seconds: Callable[[ClosedForm, float], tuple[float, float]]) -> Panel:
        found: dict[str, dict[float, float]] = {}
        for label, form in forms.items():
            found[label] = {}
            for x in xs:
                its_size, time = seconds(form, x)
                found[label][x] = its_size / time / MIB
        return Panel("", found)

    def scaled(key: str, factor: float) -> Machine:
        def change(content: dict[str, Any]) -> None:
            rows = content["reduction"] if key == "reduction" else content["levels"]["network"]
            for row in rows:
                row["bandwidth"] *= factor
            if key != "reduction":
                content["limits"]["node"]["bandwidth"] *= factor

        return _machine(change)

    plain = _machine()
    factors = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
    rate = Axis("MiB/s", Scale.LINEAR)
    sizes = [float(1 << bits) for bits in range(10, 31)]
    counts = [float(count) for count in (2, 4, 8, 16, 32, 50, 64, 128, 256)]
    panels = [
        (
            f"{nodes} nodes",
            SIZE,
            curves(sizes, lambda form, x: (x, form.seconds(x, nodes, 1, _SEGMENTS, plain))),
        ),
        (
            format_bytes(size),
            Axis("nodes", Scale.POWERS),
            curves(counts, lambda form, x: (size, form.seconds(size, int(x), 1, _SEGMENTS, plain))),
        ),
        (
            f"{format_bytes(size)}, {nodes} nodes",
            Axis("link bandwidth / 11,770 MB/s", Scale.POWERS),
            curves(
                factors,
                lambda form, x: (size, form.seconds(size, nodes, 1, _SEGMENTS, scaled("network", x))),
            ),
        ),
        (
            f"{format_bytes(size)}, {nodes} nodes",
            Axis("arithmetic rate / 8 GFLOPS", Scale.POWERS),
            curves(
                factors,
                lambda form, x: (size, form.seconds(size, nodes, 1, _SEGMENTS, scaled("reduction", x))),
            ),
        ),
    ]
    by_size, by_nodes = panels[0][2].curves, panels[1][2].curves
    best_small = max(by_size, key=lambda label: by_size[label][sizes[0]])
    best_large = max(by_size, key=lambda label: by_size[label][sizes[-1]])
    kept = {label: by_nodes[label][256.0] / by_nodes[label][8.0] for label in forms}
    scalable = sorted(kept, key=lambda label: -kept[label])[:2]
    return Result(
        [Panel(title, panel.curves, x, rate) for title, x, panel in panels],
        [
            judged(
                "the best algorithm depends on the message size",
                f"{best_small} at 1 KiB, {best_large} at 1 GiB",
                best_small != best_large,
            ),
            judged(
                "RSA and RNG scale best with the number of nodes",
                f"{' and '.join(scalable)}: {kept[scalable[0]]:.2f} and {kept[scalable[1]]:.2f} of the "
                "throughput of 8 nodes on 256",
                set(scalable) == {"RSA", "RNG"},
                partly="RSA" in scalable,
                why="a ring's 510 latencies take 1 ms, beside the 2.9 ms that 16 MiB need",
            ),
        ],
        remark="Closed forms (Table 1); n = 16 · 2^20 bytes and p = 50, unless they vary.",
    )


def fig2(bench: Bench) -> Result:
    """Compare theory with reality."""
    platform, machine = load_platform("altec"), _machine()
    sizes = bench.sizes(KIB, GIB)
    specs = {"RDB": RDB, "RSA": RSA, "LIN": LIN, "RNG": RNG, "SRG": SRG}
    panels, claims = [], []
    for nodes in (7, 8):
        real = simulate_lines(bench, platform, nodes, specs, sizes)
        curves = {label: throughput(seconds) for label, seconds in real.items()}
        for label, form in _formulas().items():
            curves[f"{label}-T"] = {
                size: size / form.seconds(size, nodes, 1, _SEGMENTS, machine) / 1e6 for size in sizes
            }
        panels.append(Panel(f"{nodes} nodes", curves, SIZE, THROUGHPUT))
        first = large_size(sizes)
        best = {
            size: min(("RDB", "RSA", "RNG", "SRG"), key=lambda label, size=size: real[label][size])  # type: ignore[misc]
            for size in sizes
            if size >= first
        }
        claims.append(
            judged(
                f"{nodes} nodes: RNG and SRG are the best for messages beyond 32 MiB",
                f"{', '.join(sorted(set(best.values())))} from {format_bytes(first)}",
                set(best.values()) <= {"RNG", "SRG"},
            )
        )
        over = speedups(real, "RSA", "RNG", first)
        claims.append(
            judged(
                f"{nodes} nodes: RSA is rarely the best beyond 32 MiB",
                f"RNG is {range_text(over)} as fast",
                min(over) > 1.05,
                partly=max(over) >= 0.99,
                why="on a power of two both move the same bytes, and simulated links are full duplex",
            )
        )
    return Result(
        panels, claims, remark="-T: closed forms; the others are simulated. SRG: segments of 1 MiB."
    )


def fig3(bench: Bench) -> Result:
    """Show why theory and reality differ."""
    platform, machine = load_platform("altec"), load_machine("altec")
    walker = Model(machine)
    sizes = bench.sizes(KIB, GIB)
    panels, claims = [], []
    for label, spec in (("RSA", RSA), ("RNG", RNG)):
        real = simulate_lines(bench, platform, 8, {"REAL": spec}, sizes)["REAL"]
        form = _formulas()[label]
        lines: Lines = {
            "THEO": {size: form.seconds(size, 8, 1, _SEGMENTS, machine) for size in sizes},
            "REAL": real,
            **{
                name: {
                    size: walker.predict(
                        Call("allreduce", size, flat_text(8)), spec, overlap=overlap, engine=False
                    ).seconds
                    for size in sizes
                }
                for name, overlap in (("OVLP", "full"), ("NOVL", "none"))
            },
        }
        panels.append(size_panel(f"{label}, 8 nodes", lines))
        first = large_size(sizes)
        to_overlapped, to_not = speedups(lines, "REAL", "OVLP", first), speedups(lines, "NOVL", "REAL", first)
        claims.append(
            judged(
                f"{label}: REAL is nearer to NOVL than to OVLP",
                f"{range_text(to_overlapped)} OVLP's time, {range_text(to_not)} faster than NOVL",
                max(to_overlapped) > min(to_not),
                why="simulated links are full duplex, and the simulated MPI uses that; calibrated machines "
                "show the paper's effect over TCP (`exchange`, docs/models.md)",
            )
        )
    return Result(panels, claims)


def fig4(bench: Bench) -> Result:
    """Compare the simulated ping-pong with the paper's."""
    platform = load_platform("altec")
    sizes = bench.sizes(8, GIB)
    seconds = ping_pong(platform, sizes)
    beyond = [size / time / 1e6 for size, time in seconds.items() if size >= 4 * MIB]
    latency = min(seconds.values()) * 1e6
    paper = {float(size): size / (2e-6 + size / 11.77e9) / 1e6 for size in sizes}
    return Result(
        [
            Panel(
                "one pair of nodes",
                {"simulated": throughput(seconds), "paper: 2 us + bytes / 11.77 GB/s": paper},
            )
        ],
        [
            judged(
                "11.7 GB/s when messages are larger than 4 MiB",
                range_text([one / 1e3 for one in beyond], "GB/s"),
                min(beyond) > 11_600,
            ),
            judged("a latency of 2 us", f"{latency:.2f} us", abs(latency - 2) < 0.05),
        ],
        columns=1,
        remark="The paper's drop beyond 32 MiB comes from its libraries' buffers, which are not simulated.",
    )


def _library_lines(bench: Bench, sizes: Sequence[int]) -> dict[tuple[str, int], Lines]:
    platform = load_platform("altec")
    return {
        (library, nodes): simulate_lines(
            bench, platform, nodes, {"AUTO": "native", **specs}, sizes, selector=selector
        )
        for library, (selector, specs) in OF_LIBRARY.items()
        for nodes in (7, 8)
    }


def fig5(bench: Bench) -> Result:
    """Compare the blocking algorithms of three libraries."""
    sizes = bench.sizes(KIB, GIB)
    lines = _library_lines(bench, sizes)
    first = large_size(sizes)
    mpich = speedups(lines["MPICH", 8], "AUTO", "RSA", first)
    openmpi = {nodes: speedups(lines["OpenMPI", nodes], "AUTO", "RNG", first) for nodes in (7, 8)}
    intel = {nodes: speedups(lines["IntelMPI", nodes], "AUTO", "RNG", first) for nodes in (7, 8)}
    return Result(
        [size_panel(f"{library}, {nodes} nodes", its) for (library, nodes), its in lines.items()],
        [
            judged(
                "MPICH takes RDB, much slower than RSA beyond 32 KiB",
                f"RSA is {range_text(mpich)} as fast on 8 nodes",
                min(mpich) > 1.5,
            ),
            judged(
                "OpenMPI takes RSA; RNG is better for the largest messages on 8 nodes",
                f"RNG is {range_text(openmpi[8])} as fast",
                min(openmpi[8]) > 1.05,
                partly=min(openmpi[8]) > 0.98,
                why="on a power of two both move the same bytes, and simulated links are full duplex",
            ),
            judged(
                "OpenMPI on 7 nodes: RNG is better than what it takes",
                f"RNG is {range_text(openmpi[7])} as fast",
                min(openmpi[7]) > 1.5,
            ),
            judged(
                "IntelMPI on 7 nodes adopts RSA where RNG is the best",
                f"RNG is {range_text(intel[7])} as fast as AUTO",
                min(intel[7]) > 1.3,
                partly=min(intel[7]) >= 0.99,
                why="SMPI imitates another version of Intel MPI, which takes a ring there",
            ),
        ],
        remark="AUTO is SMPI's imitation of each library; the other algorithms are our schedules.",
    )


def fig6(bench: Bench) -> Result:
    """Compare AUTO with BEST."""
    sizes = bench.sizes(KIB, GIB)
    lines = _library_lines(bench, sizes)
    first = large_size(sizes, 32 * KIB)
    panels, ratios = [], {}
    for nodes in (7, 8):
        curves: dict[str, Mapping[float, float]] = {}
        for library in OF_LIBRARY:
            its = lines[library, nodes]
            best = {size: min(seconds[size] for seconds in its.values()) for size in sizes}
            curves[f"{library}-AUTO"] = throughput(its["AUTO"])
            curves[f"{library}-BEST"] = throughput(best)
            ratios[library, nodes] = [its["AUTO"][size] / best[size] for size in sizes if size >= first]
        panels.append(Panel(f"{nodes} nodes", curves))
    text = {key: range_text(values) for key, values in ratios.items()}
    return Result(
        panels,
        [
            judged(
                "8 nodes: a large gap in MPICH, small ones in OpenMPI and IntelMPI",
                f"MPICH {text['MPICH', 8]}, OpenMPI {text['OpenMPI', 8]}, IntelMPI {text['IntelMPI', 8]}",
                max(ratios["MPICH", 8]) > 2 * max(max(ratios[one, 8]) for one in ("OpenMPI", "IntelMPI")) - 1,
                partly=max(ratios["MPICH", 8]) > 1.5,
                why="SMPI's Intel MPI is slow around 512 KiB",
            ),
            judged(
                "7 nodes: large gaps in all three",
                f"MPICH {text['MPICH', 7]}, OpenMPI {text['OpenMPI', 7]}, IntelMPI {text['IntelMPI', 7]}",
                all(max(ratios[library, 7]) > 1.4 for library in OF_LIBRARY),
                partly=max(ratios["OpenMPI", 7]) > 1.4,
                why="MPICH has no ring, and on 7 nodes its RSA is little better than its choice, RDB",
            ),
        ],
        remark=f"BEST is the fastest that the library has; ranges are AUTO's time over BEST's from "
        f"{format_bytes(first)} on.",
    )


def fig7(bench: Bench) -> Result:
    """Count the gradients of the four networks by size."""
    del bench
    panels, begins = [], []
    for build in NETWORKS.values():
        network = build()
        bins = histogram(message_sizes(network))
        begins += [one.begin for one in bins]
        panels.append(
            Panel(
                f"{network.name}, {network.parameters:,} parameters",
                {"messages": {float(one.begin): float(one.messages) for one in bins}},
                SIZE,
                Axis("gradients", Scale.LINEAR),
                bars=True,
            )
        )
    return Result(
        panels,
        [
            judged(
                "messages from 1 KiB to 1 GiB are to be looked at",
                f"gradients from {format_bytes(min(begins))} to {format_bytes(max(begins))}, one by one",
                max(begins) >= 256 * MIB,
                partly=True,
                why="Horovod merges small gradients and cuts none: no message exceeds the largest gradient",
            )
        ],
        remark="FP32 gradients of the layers by powers of two, before Horovod merges any.",
    )


FIGURES = [
    Figure("training", "table1", "What algorithms cost", table1, in_ci=True),
    Figure("training", "fig1", "Costs in theory", fig1, in_ci=True),
    Figure("training", "fig2", "Theory against reality", fig2),
    Figure("training", "fig3", "Theory, overlap and reality", fig3, in_ci=True),
    Figure("training", "fig4", "Ping-pong on ALTEC", fig4, in_ci=True),
    Figure("training", "fig5", "Algorithms for MPI_Allreduce in three libraries", fig5),
    Figure("training", "fig6", "AUTO against BEST", fig6),
    Figure("training", "fig7", "Gradients of four networks", fig7, in_ci=True),
]
