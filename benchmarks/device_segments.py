# SPDX-License-Identifier: Apache-2.0
"""What the model says of an allreduce with buffers in device memory, as docs/device-memory.md quotes it.

    python benchmarks/device_segments.py measured    predictions beside what device_overlap.cpp measured
    python benchmarks/device_segments.py segments    times by segment size
    python benchmarks/device_segments.py choices     what the best spec for host memory loses on a device
    python benchmarks/device_segments.py rule        what the built-in rule loses in either memory

All but the first are for links and buses of several speeds. What the rule leaves to the library is not shown.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from stretto._core import Machine, choose
from stretto.model.walker import Call, Model, candidates, load_machine, machine_text
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.support.units import format_bytes, format_seconds, parse_seconds

USUAL_LATENCY = 10e-6  # of `stretto predict --device`
PAGE = Path(__file__).parents[1] / "docs" / "device-memory.md"
# What device_overlap.cpp prints of 16 MiB: spec (empty: that of the row above), copy / link, and the seconds
# of the link, of a copy, as a whole, by segments.
MEASURED = re.compile(r"^\| (?:`(.+?)` )?\| [\d.]+" + r" \| ([\d.]+) s" * 4 + r" \|", re.MULTILINE)
SEGMENTS = ("64KiB", "256KiB", "1MiB", "4MiB", "16MiB", "")
GBITS = (1, 10, 100)
NODES = (4, 16)
BUSES = (12e9, 25e9)
MEMORIES = (None, *BUSES)
"""Bytes per second of the bus of a device; None: host memory."""


def print_row(*cells: str) -> None:
    """One row of a table in Markdown."""
    print(f"| {' | '.join(cells)} |".replace("|  |", "| |"))


def print_headers(*headers: str) -> None:
    """The first two rows."""
    print_row(*headers)
    print_row(*["---"] * len(headers))


def beside(predicted: float, measured: str) -> str:
    """A predicted time, and by how much it differs from the measured one."""
    percent = round(100 * (predicted / float(measured) - 1))
    return f"{predicted:.2f} s ({f'{percent:+d}'.replace('-', '−') if percent else 0} %)"  # noqa: RUF001


def print_measured() -> None:
    """Predicted times on the emulated cluster, beside the table of measured ones on the page."""
    machine = load_machine("lab")
    size = 16 << 20
    call = Call("allreduce", size, "nodes=4,ppn=1")
    print_headers("spec", "copy", "link", "whole", "segments")
    spec = ""
    for named, link, copy, whole, segments in MEASURED.findall(PAGE.read_text(encoding="utf-8")):
        spec = named or spec
        model = Model(machine.with_device(size / float(copy), size / float(copy), 0))
        print_row(
            f"`{named}`" if named else "",
            f"{copy} s",
            *(
                beside(model.predict(call, spec, staging=staging).seconds, measured)
                for staging, measured in (("none", link), ("whole", whole), ("segments", segments))
            ),
        )


def machine_of(gbit: int) -> Machine:
    """The built-in cluster of 100 Gbit/s, or that of 25 Gbit/s with links of another rate."""
    if gbit == 100:
        return load_machine("ethernet100")
    file = json.loads(machine_text("ethernet25"))
    factor = gbit / 25
    file["limits"]["node"]["bandwidth"] *= factor
    for row in file["levels"]["network"]:
        row["bandwidth"] *= factor
    return Machine(json.dumps(file))


@dataclass(frozen=True, slots=True)
class Case:
    """A call on links of some speed."""

    gbit: int
    call: Call

    def cells(self, bus: float | None) -> list[str]:
        """The first cells of a row."""
        memory = f"{bus / 1e9:.0f} GB/s" if bus else "host"
        nodes = str(parse_topology(self.call.topology).nodes)
        return [f"{self.gbit} Gbit/s", nodes, format_bytes(self.call.bytes), memory]

    def specs(self) -> list[str]:
        """All specs that Stretto could carry the call out by."""
        return [one for one in candidates(self.call.collective, self.call.topology) if one != NATIVE]

    def rule(self) -> str:
        """What the built-in rule says."""
        return choose(self.call.collective, self.call.bytes, parse_topology(self.call.topology))


def cases(sizes: Iterable[int]) -> Iterator[Case]:
    """Allreduces of these sizes, one rank a node."""
    for gbit, nodes, size in product(GBITS, NODES, sizes):
        yield Case(gbit, Call("allreduce", size, f"nodes={nodes},ppn=1"))


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the options say."""

    latency: float
    """Seconds of a copy besides its bytes."""
    arithmetic: bool
    """Reductions take time."""

    def seconds(self, case: Case, bus: float | None, specs: Iterable[str]) -> dict[str, float]:
        """The time of the call by each spec."""
        machine = machine_of(case.gbit)
        model = Model(machine.with_device(bus, bus, self.latency) if bus else machine)
        staging = "segments" if bus else "none"
        return {
            spec: model.predict(case.call, spec, arithmetic=self.arithmetic, staging=staging).seconds
            for spec in specs
        }


def print_segments(assumptions: Assumptions) -> None:
    """Times of a ring by segment size."""
    specs = [f"ring:segment_bytes={one}" if one else "ring" for one in SEGMENTS]
    print_headers("link", "nodes", "message", "memory", *(one or "one" for one in SEGMENTS))
    for case in cases((16 << 20, 256 << 20)):
        for bus in MEMORIES:
            times = list(assumptions.seconds(case, bus, specs).values())
            texts = [format_seconds(one) for one in times]
            texts[times.index(min(times))] = f"**{format_seconds(min(times))}**"
            print_row(*case.cells(bus), *texts)


def print_losses(assumptions: Assumptions, *, by_rule: bool) -> None:
    """What a choice that does not see the memory loses: the rule's, or the best spec for host memory."""
    print_headers("link", "nodes", "message", "memory", "choice", "takes", "loses", "best")
    for case in cases((64 << 10, 1 << 20, 16 << 20, 256 << 20)):
        specs = case.specs()
        if by_rule:
            chosen = case.rule()
            if chosen == NATIVE:
                continue
            specs.append(chosen)
        else:
            on_host = assumptions.seconds(case, None, specs)
            chosen = min(on_host, key=on_host.__getitem__)
        for bus in MEMORIES if by_rule else BUSES:
            times = assumptions.seconds(case, bus, specs)
            best = min(times, key=times.__getitem__)
            loss = 100 * (times[chosen] / times[best] - 1)
            took = format_seconds(times[chosen])
            print_row(*case.cells(bus), f"`{chosen}`", took, f"{loss:.0f} %", f"`{best}`")


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["measured", "segments", "choices", "rule"])
    usual = f"of a copy (default: {format_seconds(USUAL_LATENCY)})"
    parser.add_argument("--latency", type=parse_seconds, default=USUAL_LATENCY, help=usual)
    parser.add_argument("--no-reductions", action="store_true", help="reductions take no time")
    options = parser.parse_args()
    assumptions = Assumptions(options.latency, not options.no_reductions)
    if options.what == "measured":
        print_measured()
    elif options.what == "segments":
        print_segments(assumptions)
    else:
        print_losses(assumptions, by_rule=options.what == "rule")


if __name__ == "__main__":
    main()
