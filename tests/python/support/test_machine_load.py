# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest

from stretto.support import machine_load
from stretto.support.machine_load import Load, LoadWatch, own_seconds

IDLE = Load("here", 4, others=0.1, stolen=0.0, average=0.2, ranks_per_core=1.0)


def load(**changes: Any) -> Load:
    return Load(**({field: getattr(IDLE, field) for field in Load.__slots__} | changes))


def test_an_idle_machine_is_no_remark() -> None:
    assert IDLE.remarks() == []
    assert IDLE.to_json() == {
        "host": "here", "cores": 4, "others": 0.1, "stolen": 0.0, "average": 0.2, "ranks_per_core": 1.0,
        "busy": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"others": 1.5}, "others kept 1.5 of 4 cores of here busy meanwhile (load average before: 0.2)"),
        ({"stolen": 0.3}, "a hypervisor gave others 30 % of the time of here"),
        ({"ranks_per_core": 2.0}, "2 ranks on each of 4 cores"),
    ],
)
def test_what_weighs_on_figures(changes: dict[str, Any], said: str) -> None:
    busy = load(**changes)
    assert busy.remarks() == [f"busy machine: {said}"]
    assert busy.to_json()["busy"] == busy.remarks()
    assert bool(busy.remarks(crowded=False)) is ("ranks_per_core" not in changes)


def test_of_all_that_is_busy_ours_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    second = os.sysconf("SC_CLK_TCK")
    ticks = iter([machine_load._Ticks(0, 0, 0), machine_load._Ticks(10 * second, 2 * second, 20 * second)])
    own, clock = iter([1.0, 5.0]), iter([100.0, 110.0])
    monkeypatch.setattr(machine_load, "_read_ticks", lambda _: next(ticks))
    monkeypatch.setattr(machine_load, "own_seconds", lambda: next(own))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    found = LoadWatch().look(ranks_here=3)
    # In ten seconds: ten seconds of processor time, four of them ours.
    assert found.others == pytest.approx(0.6)
    assert found.stolen == pytest.approx(0.1)
    assert found.ranks_per_core == 3 / len(os.sched_getaffinity(0))


def test_what_children_take_is_ours_while_they_run_and_after() -> None:
    code = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    before = own_seconds()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert own_seconds() - before >= 0.25
        process.communicate(b"\n")
    assert own_seconds() - before >= 0.25
