# SPDX-License-Identifier: Apache-2.0
"""The load of this machine during a measurement, by the counters of Linux."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# An idle machine shows less than this.
_BUSY_CORES = 0.25
_BUSY_SHARE = 0.05
_STOLEN = 0.02


@dataclass(frozen=True, slots=True)
class Load:
    """The load of the cores that we may use, during a measurement."""

    host: str
    """The node where the command ran. The load of other nodes is not known."""
    cores: int
    others: float
    """The average number of cores that other processes kept busy."""
    stolen: float
    """The part of the time that the hypervisor gave to others."""
    average: float
    """The load average of the minute before."""
    ranks_per_core: float | None
    """None if ranks ran on other nodes, too."""

    def to_json(self) -> dict[str, Any]:
        """The load as JSON, with `busy` if it affects results."""
        figures = {
            key: float(f"{value:.3g}") if isinstance(value, float) else value
            for key, value in asdict(self).items()
        }
        return figures | {"busy": self.remarks()}

    def remarks(self, *, crowded: bool = True) -> list[str]:
        """A line for each load that affects results. `crowded`: also for more ranks than cores."""
        lines = []
        if self.others > max(_BUSY_CORES, _BUSY_SHARE * self.cores):
            lines.append(
                f"busy machine: others kept {self.others:.1f} of {self.cores} cores of {self.host} busy "
                f"meanwhile (load average before: {self.average:.1f})"
            )
        if self.stolen > _STOLEN:
            share = 100 * self.stolen
            lines.append(f"busy machine: a hypervisor gave others {share:.0f} % of the time of {self.host}")
        if crowded and self.ranks_per_core is not None and self.ranks_per_core > 1:
            lines.append(f"busy machine: {self.ranks_per_core:.3g} ranks on each of {self.cores} cores")
        return lines


@dataclass(frozen=True, slots=True)
class _Ticks:
    busy: float
    stolen: float
    all: float


class LoadWatch:
    """Measures the load from its creation on."""

    def __init__(self) -> None:
        self._cores = os.sched_getaffinity(0)
        self._average = os.getloadavg()[0]
        self._ticks = _read_ticks(self._cores)
        self._own = own_seconds()
        self._begin = time.monotonic()

    def look(self, ranks_here: int | None = None) -> Load:
        """The load until now. `ranks_here`: the number of ranks that shared the cores."""
        seconds = max(1e-9, time.monotonic() - self._begin)
        ticks = _read_ticks(self._cores)
        busy = (ticks.busy - self._ticks.busy) / os.sysconf("SC_CLK_TCK")
        total = max(1.0, ticks.all - self._ticks.all)
        return Load(
            platform.node(),
            len(self._cores),
            max(0.0, busy - (own_seconds() - self._own)) / seconds,
            max(0.0, ticks.stolen - self._ticks.stolen) / total,
            self._average,
            ranks_here / len(self._cores) if ranks_here else None,
        )


def _read_ticks(cores: Collection[int]) -> _Ticks:
    """The counts of these cores together since the machine started; empty if there are none."""
    names = {f"cpu{core}" for core in cores}
    busy = stolen = whole = 0.0
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, *fields = line.split()
        if name in names:
            # user, nice, system, idle, iowait, irq, softirq, steal (proc(5))
            ticks = [float(field) for field in fields[:8]]
            stolen += ticks[7]
            busy += sum(ticks) - ticks[3] - ticks[4] - ticks[7]
            whole += sum(ticks)
    return _Ticks(busy, stolen, whole)


def own_seconds() -> float:
    """The processor time of this process and of all its children, ended or not."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = time.process_time() + ended.ru_utime + ended.ru_stime
    parents: dict[int, int] = {}
    ticks: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return spent + sum(ticks[pid] for pid in found - {os.getpid()}) / os.sysconf("SC_CLK_TCK")
