# SPDX-License-Identifier: Apache-2.0
"""The figures of the node-aware paper, with 16 ranks per node on Blue Waters.

The models go up to 32,768 ranks, as the paper's measurements do, and the simulations up to 1,024.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stretto._core import closed_forms
from stretto.model.walker import Call, Model, load_machine
from stretto.plots.panels import SIZE, Axis, Panel, Scale
from stretto.support.units import format_bytes
from stretto_research.reproduce.figure import Bench, Claim, Figure, Result, judged
from stretto_research.reproduce.lines import KIB, MIB, Lines, range_text, simulate_lines, speedups
from stretto_research.simulate.jobs import ping_pong
from stretto_research.simulate.platforms import load_platform

_PPN = 16
_SOCKETS = 2
"""Sockets of a node."""
_VALUE = 8
"""Bytes of a double."""
_SPECS = {"RD": "recursive_doubling", "SMP": "smp", "NAP": "nap"}
_FORMULAS = {"RD": "RDB", "SMP": "SMP", "NAP": "NAP"}
_MODELLED = 32768
_SIMULATED = 1024
_QUICK = 256
_PROCESSES = Axis("processes", Scale.POWERS)
_SECONDS = Axis("time", Scale.LOG_SECONDS)
_SPEEDUP = Axis("times as fast", Scale.LINEAR)


def _process_counts(bench: Bench, most: int) -> list[int]:
    """Return powers of two, from one full node on; among them are the powers of 16: 16, 256 and 4,096."""
    most = min(most, _QUICK) if bench.quick else most
    return [_PPN << step for step in range(12) if _PPN << step <= most]


def _sizes(bench: Bench, last: int) -> tuple[int, ...]:
    return bench.sizes(_VALUE, last)


def _formula_curves(points: Sequence[tuple[int, int]]) -> dict[str, list[float]]:
    """Return seconds by equations 4 to 6 for pairs of (processes, bytes)."""
    machine = load_machine("bluewaters")
    by_label = {form.label: form for form in closed_forms()}
    return {
        label: [
            by_label[formula].seconds(size, processes // _PPN, _PPN, 1, machine) for processes, size in points
        ]
        for label, formula in _FORMULAS.items()
    }


def _walked(points: Sequence[tuple[int, int]]) -> dict[str, list[float]]:
    """Return seconds of the schedules by the max-rate model for pairs of (processes, bytes)."""
    walker = Model(load_machine("bluewaters"))

    def seconds(spec: str, processes: int, size: int) -> float:
        where = f"nodes={processes // _PPN},ppn={_PPN},sockets={_SOCKETS}"
        return walker.predict(Call("allreduce", size, where), spec, engine=False).seconds

    return {
        label: [seconds(spec, processes, size) for processes, size in points]
        for label, spec in _SPECS.items()
    }


def _over(xs: Sequence[int], curves: Mapping[str, Sequence[float]]) -> dict[str, dict[float, float]]:
    return {label: dict(zip(map(float, xs), values, strict=True)) for label, values in curves.items()}


def _simulated_over_processes(bench: Bench, counts: Sequence[int]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {label: [] for label in _SPECS}
    for processes in counts:
        nodes = processes // _PPN
        lines = simulate_lines(bench, load_platform("bluewaters", nodes), nodes, _SPECS, (_VALUE,), ppn=_PPN)
        for label, seconds in lines.items():
            found[label].append(seconds[_VALUE])
    return found


def _simulated_over_sizes(bench: Bench) -> tuple[int, Lines]:
    processes = _QUICK if bench.quick else _SIMULATED
    nodes = processes // _PPN
    platform = load_platform("bluewaters", nodes)
    return processes, simulate_lines(bench, platform, nodes, _SPECS, _sizes(bench, 64 * KIB), ppn=_PPN)


def crossover(slow_first: Mapping[int, float], fast_first: Mapping[int, float]) -> float:
    """Return the size from which `slow_first` is faster, interpolated if it is between two sizes."""
    before = None
    for size in sorted(fast_first):
        lead = slow_first[size] / fast_first[size] - 1
        if lead <= 0:
            if before is None:
                return float(size)
            last_size, last_lead = before
            return float(last_size * (size / last_size) ** (last_lead / (last_lead - lead)))
        before = (size, lead)
    return float("inf")


def _speedup_curves(
    xs: Sequence[int], curves: Mapping[str, Sequence[float]]
) -> dict[str, dict[float, float]]:
    return _over(
        xs,
        {
            f"NAP over {label}": [
                other / nap for other, nap in zip(curves[label], curves["NAP"], strict=True)
            ]
            for label in ("RD", "SMP")
        },
    )


def fig5(bench: Bench) -> Result:
    """Compare one message by distance."""
    machine = load_machine("bluewaters")
    sizes = _sizes(bench, MIB)

    def seconds(level: str, size: int) -> float:
        protocol = [one for one in machine.protocols(level) if one.begin <= size][-1]
        return protocol.latency + size / protocol.bandwidth

    names = {"intra-socket": "socket", "inter-socket": "node", "inter-node": "network"}
    curves = {name: {float(size): seconds(level, size) for size in sizes} for name, level in names.items()}
    simulated = ping_pong(load_platform("bluewaters", 2), sizes)
    curves["inter-node, simulated"] = {float(size): time for size, time in simulated.items()}
    far = [
        curves["inter-node"][size] / curves["inter-socket"][size] for size in map(float, sizes) if size <= KIB
    ]
    near = [
        curves["inter-socket"][size] / curves["intra-socket"][size]
        for size in map(float, sizes)
        if size <= KIB
    ]
    return Result(
        [Panel("a message between two ranks", curves, SIZE, _SECONDS)],
        [
            judged(
                "messages in a socket are much cheaper than between sockets, those than between nodes",
                f"{range_text(near)} and {range_text(far)} up to 1 KiB",
                min(near) > 1.2 and min(far) > 1.2,
            )
        ],
        columns=1,
        remark="The paper prints none of its parameters. The machine's are estimates (its notes give the "
        "sources), in the paper's order.",
    )


def fig10(bench: Bench) -> Result:
    """Compare models over the number of processes."""
    counts = _process_counts(bench, _MODELLED)
    points = [(count, _VALUE) for count in counts]
    formulas, walked = _formula_curves(points), _walked(points)
    at_powers = [index for index, count in enumerate(counts) if count in (256, 4096)]
    gains = [walked[label][index] / walked["NAP"][index] for label in ("RD", "SMP") for index in at_powers]
    return Result(
        [
            Panel("equations 4 to 6", _over(counts, formulas), _PROCESSES, _SECONDS),
            Panel("schedules, max-rate", _over(counts, walked), _PROCESSES, _SECONDS),
        ],
        [
            judged(
                "NAP is the best for one value, the more so the more processes there are",
                f"{range_text(gains)} as fast at powers of 16",
                min(gains) > 1,
            ),
            judged(
                "the same by the schedules as by the formulas",
                _ratio_text(formulas, walked),
                all(
                    abs(a / b - 1) < 0.35
                    for label in _SPECS
                    for a, b in zip(formulas[label], walked[label], strict=True)
                ),
                partly=True,
                why="formulas take all steps of a kind as equally long; schedules know sockets",
            ),
        ],
        remark="One double; 16 processes a node.",
    )


def _ratio_text(one: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> str:
    ratios = [a / b for label in _SPECS for a, b in zip(one[label], other[label], strict=True)]
    return f"formula / schedule {range_text(ratios, '')}"


def fig11(bench: Bench) -> Result:
    """Compare models over message size."""
    processes = _QUICK if bench.quick else _MODELLED
    sizes = _sizes(bench, 64 * KIB)
    points = [(processes, size) for size in sizes]
    formulas, walked = _formula_curves(points), _walked(points)
    at = {
        name: crossover(
            dict(zip(sizes, curves["SMP"], strict=True)), dict(zip(sizes, curves["NAP"], strict=True))
        )
        for name, curves in (("formulas", formulas), ("schedules", walked))
    }
    return Result(
        [
            Panel("equations 4 to 6", _over(sizes, formulas), SIZE, _SECONDS),
            Panel("schedules, max-rate", _over(sizes, walked), SIZE, _SECONDS),
        ],
        [
            judged(
                "NAP is the best for small messages, SMP for large ones",
                ", ".join(f"{name}: SMP from {_size_text(size)}" for name, size in at.items()),
                all(_VALUE < size < 64 * KIB for size in at.values()),
            )
        ],
        remark=f"{processes:,} processes, 16 a node.",
    )


def _size_text(size: float) -> str:
    return format_bytes(round(size)) if size < KIB else f"{size / KIB:.1f} KiB"


def fig12(bench: Bench) -> Result:
    """Compare times over the number of processes."""
    counts = _process_counts(bench, _SIMULATED)
    curves = _simulated_over_processes(bench, counts)
    last = {label: values[-1] for label, values in curves.items()}
    return Result(
        [Panel("one double", _over(counts, curves), _PROCESSES, _SECONDS)],
        [
            judged(
                "NAP costs the least",
                ", ".join(f"{label} {value * 1e6:.1f} us" for label, value in last.items())
                + f" on {counts[-1]:,} processes",
                last["NAP"] < min(last["RD"], last["SMP"]),
            )
        ],
        columns=1,
        remark="Simulated on a torus.",
    )


def fig13(bench: Bench) -> Result:
    """Draw speedups over the number of processes."""
    counts = _process_counts(bench, _SIMULATED)
    curves = _simulated_over_processes(bench, counts)
    speedup = _speedup_curves(counts, curves)
    at_power = {label: values[256.0] for label, values in speedup.items()}
    others = {
        label: [value for count, value in values.items() if count in (64.0, 128.0, 512.0)]
        for label, values in speedup.items()
    }
    return Result(
        [Panel("one double", speedup, _PROCESSES, _SPEEDUP)],
        [
            judged(
                "notable speedups, the largest where the number of processes is a power of 16",
                "256 processes: "
                + ", ".join(f"{label} {value:.2f} x" for label, value in at_power.items())
                + "; its neighbours: "
                + ", ".join(f"{label} {range_text(values)}" for label, values in others.items()),
                all(value > 1.2 for value in at_power.values()),
                partly=all(value > 1 for value in at_power.values()),
                why="the machine's figures are estimates",
            )
        ],
        columns=1,
    )


def fig14(bench: Bench) -> Result:
    """Compare times over message size."""
    processes, lines = _simulated_over_sizes(bench)
    sizes = sorted(lines["NAP"])
    walked = _walked([(processes, size) for size in sizes])
    by_model = crossover(
        dict(zip(sizes, walked["SMP"], strict=True)), dict(zip(sizes, walked["NAP"], strict=True))
    )
    simulated = crossover(lines["SMP"], lines["NAP"])
    return Result(
        [
            Panel(
                f"{processes:,} processes",
                {label: {float(size): time for size, time in its.items()} for label, its in lines.items()},
                SIZE,
                _SECONDS,
            )
        ],
        [
            judged(
                "NAP is best for small messages, SMP beyond about 2,048 bytes",
                f"SMP from {_size_text(simulated)}",
                1024 <= simulated <= 4096,
                partly=simulated <= 8192,
                why="our NAP has the same number of subgroups in both steps between nodes; with the paper's "
                "(16, then 4) it was 2.0 KiB",
            ),
            judged(
                "the models say the same",
                f"max-rate: SMP from {_size_text(by_model)}",
                0.5 <= simulated / by_model <= 2,
            ),
        ],
        columns=1,
        remark="Simulated on a torus.",
    )


def fig15(bench: Bench) -> Result:
    """Draw speedups over message size."""
    processes, lines = _simulated_over_sizes(bench)
    sizes = sorted(lines["NAP"])
    curves = {label: [its[size] for size in sizes] for label, its in lines.items()}
    small = [gain for label in ("RD", "SMP") for gain in speedups(lines, label, "NAP", 0, 512)]
    return Result(
        [Panel(f"{processes:,} processes", _speedup_curves(sizes, curves), SIZE, _SPEEDUP)],
        [
            judged(
                "significant speedups for small messages",
                f"{range_text(small)} up to 512 B",
                min(small) > 1.1,
                partly=min(small) > 1,
                why="one value gains little over recursive doubling, four of whose ten rounds stay in one "
                "socket or node",
            )
        ],
        columns=1,
    )


def _on_top_of_mpi(bench: Bench, processes: int, sizes: Sequence[int]) -> Lines:
    """Simulate SMP and NAP with the engine's overhead, and SMP inside MPICH without it."""
    nodes = processes // _PPN
    inside = simulate_lines(
        bench, load_platform("bluewaters", nodes), nodes, {"MPICH SMP": "smp"}, sizes, ppn=_PPN
    )
    on_top = simulate_lines(
        bench,
        load_platform("bluewaters", nodes, with_engine=True),
        nodes,
        {"SMP on MPI": "smp", "NAP on MPI": "nap"},
        sizes,
        ppn=_PPN,
    )
    return {**on_top, **inside}


def fig16(bench: Bench) -> Result:
    """Compare SMP inside MPI with SMP and NAP on top of it, over processes."""
    counts = _process_counts(bench, _SIMULATED)
    lines = [_on_top_of_mpi(bench, count, (_VALUE,)) for count in counts]
    curves = {label: [one[label][_VALUE] for one in lines] for label in lines[0]}
    return Result(
        [Panel("one double", _over(counts, curves), _PROCESSES, _SECONDS)],
        [_layering_claim(*(curves[label] for label in ("SMP on MPI", "MPICH SMP", "NAP on MPI")))],
        columns=1,
        remark="On MPI: with the engine's overhead for each message and round (the machine file's estimate).",
    )


def fig17(bench: Bench) -> Result:
    """Compare SMP inside MPI with SMP and NAP on top of it, over message size."""
    processes = _QUICK if bench.quick else _SIMULATED
    lines = _on_top_of_mpi(bench, processes, _sizes(bench, 8 * KIB))
    curves = {label: {float(size): time for size, time in its.items()} for label, its in lines.items()}
    small = {label: [time for size, time in its.items() if size <= 512] for label, its in lines.items()}
    return Result(
        [Panel(f"{processes:,} processes", curves, SIZE, _SECONDS)],
        [_layering_claim(*(small[label] for label in ("SMP on MPI", "MPICH SMP", "NAP on MPI")))],
        columns=1,
    )


def _layering_claim(on_top: Sequence[float], inside: Sequence[float], nap: Sequence[float]) -> Claim:
    overhead = [a / b for a, b in zip(on_top, inside, strict=True)]
    left = [a / b for a, b in zip(inside, nap, strict=True)]
    return judged(
        "layering on MPI costs a good part of what NAP gains: little is left against MPICH's own SMP",
        f"SMP on MPI takes {range_text(overhead)} MPICH's time, NAP on MPI is {range_text(left)} as fast",
        max(overhead) > 1.02 and max(left) < 1.3,
    )


FIGURES = [
    Figure("node-aware", "fig5", "The cost of a message by distance", fig5, in_ci=True),
    Figure("node-aware", "fig10", "Models over processes", fig10, in_ci=True),
    Figure("node-aware", "fig11", "Models over message size", fig11),
    Figure("node-aware", "fig12", "Times over processes", fig12),
    Figure("node-aware", "fig13", "Speedups over processes", fig13),
    Figure("node-aware", "fig14", "Times over message size", fig14, in_ci=True),
    Figure("node-aware", "fig15", "Speedups over message size", fig15),
    Figure("node-aware", "fig16", "On top of MPI, over processes", fig16),
    Figure("node-aware", "fig17", "On top of MPI, over message size", fig17),
]
