# SPDX-License-Identifier: Apache-2.0
"""What the model says of buffers in device memory (docs/device-memory.md).

python benchmarks/device_segments.py measured   predictions beside what device_overlap.cpp measured
python benchmarks/device_segments.py segments   times by segment size, on links and buses of several speeds
python benchmarks/device_segments.py choices    what the best choice for host memory loses on a device
"""

from __future__ import annotations

import json
import sys

from stretto._core import Machine
from stretto.model.device_copies import USUAL_LATENCY
from stretto.model.walker import Call, Model, candidates, load_machine, machine_text
from stretto.spec.native import NATIVE
from stretto.support.units import format_bytes, format_seconds

# Of docs/device-memory.md: spec, seconds of the link, of a copy, as a whole, by segments.
MEASURED = (
    ("ring:segment_bytes=256KiB", 1.07, 0.28, 1.64, 1.12),
    ("ring:segment_bytes=256KiB", 1.08, 0.55, 2.20, 1.17),
    ("ring:segment_bytes=256KiB", 1.13, 1.10, 3.32, 1.13),
    ("ring:segment_bytes=256KiB", 1.08, 2.20, 5.54, 2.25),
    ("ring:segment_bytes=1MiB", 1.14, 0.29, 1.73, 1.23),
    ("ring:segment_bytes=1MiB", 1.15, 0.57, 2.31, 1.19),
    ("ring:segment_bytes=1MiB", 1.14, 1.14, 3.43, 1.27),
    ("ring:segment_bytes=1MiB", 1.15, 2.28, 5.74, 2.49),
    ("ring", 1.20, 0.31, 1.71, 1.34),
    ("ring", 1.16, 0.61, 2.42, 1.60),
    ("ring", 1.23, 1.22, 3.67, 2.64),
)
SIZE = 16 << 20
SEGMENTS = ("64KiB", "256KiB", "1MiB", "4MiB", "16MiB", "")
GBITS = (1, 10, 100)
BUSES = (12e9, 25e9)


def print_measured() -> None:
    """Predicted and measured times on the emulated cluster."""
    machine = load_machine("lab")
    call = Call("allreduce", SIZE, "nodes=4,ppn=1")
    print("| spec | copy | link | whole | segments |\n| --- | --- | --- | --- | --- |")
    for spec, link, copy, whole, segments in MEASURED:
        model = Model(machine.with_device(SIZE / copy, SIZE / copy, 0))
        cells = [
            f"{predicted:.2f} / {measured:.2f} s ({100 * (predicted / measured - 1):+.0f} %)"
            for predicted, measured in (
                (model.predict(call, spec).seconds, link),
                (model.predict(call, spec, staging="whole").seconds, whole),
                (model.predict(call, spec, staging="segments").seconds, segments),
            )
        ]
        print("|", " | ".join([f"`{spec}`", f"{copy} s", *cells]), "|")


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


def print_segments() -> None:
    """Times of a ring by segment size: in host memory, and on devices behind a slow and a fast bus."""
    headers = [size or "one" for size in SEGMENTS]
    print("| link | nodes | message | memory |", " | ".join(headers), "|")
    print("|", " | ".join(["---"] * (4 + len(headers))), "|")
    for gbit in GBITS:
        for nodes in (4, 16):
            for size in (16 << 20, 256 << 20):
                call = Call("allreduce", size, f"nodes={nodes},ppn=1")
                for bus in (None, *BUSES):
                    machine = machine_of(gbit)
                    if bus:
                        machine = machine.with_device(bus, bus, USUAL_LATENCY)
                    model = Model(machine)
                    times = [
                        model.predict(
                            call,
                            f"ring:segment_bytes={segment}" if segment else "ring",
                            staging="segments" if bus else "none",
                        ).seconds
                        for segment in SEGMENTS
                    ]
                    cells = [
                        f"**{format_seconds(one)}**" if one == min(times) else format_seconds(one)
                        for one in times
                    ]
                    memory = f"{bus / 1e9:.0f} GB/s" if bus else "host"
                    print(
                        f"| {gbit} Gbit/s | {nodes} | {format_bytes(size)} | {memory} |",
                        " | ".join(cells),
                        "|",
                    )


def print_choices() -> None:
    """What the best of all specs for host memory loses where buffers are on a device."""
    print("| link | nodes | message | bus | best for host memory | loses | best on the device |")
    print("|", " | ".join(["---"] * 7), "|")
    for gbit in GBITS:
        for nodes in (4, 16):
            for size in (64 << 10, 1 << 20, 16 << 20, 256 << 20):
                call = Call("allreduce", size, f"nodes={nodes},ppn=1")
                specs = [one for one in candidates("allreduce", call.topology) if one != NATIVE]
                for bus in BUSES:
                    model = Model(machine_of(gbit).with_device(bus, bus, USUAL_LATENCY))
                    on_host = {one: model.predict(call, one).seconds for one in specs}
                    staged = {one: model.predict(call, one, staging="segments").seconds for one in specs}
                    chosen = min(on_host, key=on_host.__getitem__)
                    best = min(staged, key=staged.__getitem__)
                    loss = 100 * (staged[chosen] / staged[best] - 1)
                    print(
                        f"| {gbit} Gbit/s | {nodes} | {format_bytes(size)} | {bus / 1e9:.0f} GB/s "
                        f"| `{chosen}` | {loss:.0f} % | `{best}` |"
                    )


if __name__ == "__main__":
    actions = {"measured": print_measured, "segments": print_segments, "choices": print_choices}
    if sys.argv[1:] and sys.argv[1] in actions:
        actions[sys.argv[1]]()
    else:
        raise SystemExit(__doc__)
