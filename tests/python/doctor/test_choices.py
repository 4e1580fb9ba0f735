# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from stretto.doctor.checks import Finding, Verdict
from stretto.doctor.choices import list_choices, list_fabrics

DECISION: dict[str, Any] = {"nodes": 3, "ppn": 1, "call": "allreduce", "from": "1MiB", "spec": "ring"}
MEASURED: dict[str, Any] = {
    "nodes": 2,
    "ppn": 1,
    "when": "2026-11-24",
    "machine": {
        "name": "probed",
        "levels": {"network": [{"from": 0, "latency": 4.5e-5, "bandwidth": 2.39e7}]},
        "engine": {"message": 2.5e-6, "round": 0},
    },
}


def by_source(environment: dict[str, str]) -> dict[str, Finding]:
    return {finding.what: finding for finding in list_choices(environment)}


def test_choices_when_nothing_is_set() -> None:
    found = by_source({})
    assert list(found) == ["forced", "table", "learnt, modelled", "rule"]
    assert found["forced"] == Finding(Verdict.ABSENT, "forced", "no variable forces a spec")
    assert found["table"] == Finding(Verdict.ABSENT, "table", "there is none")
    assert found["learnt, modelled"].verdict is Verdict.GOOD
    assert found["learnt, modelled"].detail.startswith("STRETTO_ONLINE is not set: decisions of earlier jobs")
    assert found["rule"].verdict is Verdict.GOOD


def test_choices_that_variables_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced = by_source({"STRETTO_ALLREDUCE": "ring", "STRETTO_BCAST": "auto", "STRETTO_REDUCE": "binomial"})
    detail = "STRETTO_ALLREDUCE=ring, STRETTO_REDUCE=binomial"
    assert forced["forced"] == Finding(Verdict.GOOD, "forced", detail)
    assert by_source({"STRETTO_TABLE": "/some/table.json"})["table"].detail == "/some/table.json"
    assert by_source({"STRETTO_TABLE": "none"})["table"].verdict is Verdict.ABSENT
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    table = tmp_path / "stretto" / "table-mpich.json"
    table.parent.mkdir()
    table.write_text("{}")
    assert by_source({})["table"].detail == str(table)


@pytest.mark.parametrize(
    ("environment", "verdict", "detail"),
    [
        ({"STRETTO_ONLINE": "0"}, Verdict.ABSENT, "STRETTO_ONLINE=0: the job ignores the findings"),
        ({"STRETTO_ONLINE": "freeze"}, Verdict.GOOD, "STRETTO_ONLINE=freeze: decisions"),
        ({"STRETTO_ONLINE": "1"}, Verdict.GOOD, "STRETTO_ONLINE is not set: decisions"),
        ({"STRETTO_CHECK": "1"}, Verdict.ABSENT, "not used: STRETTO_CHECK=1"),
        ({"STRETTO_REPRODUCIBLE": "1", "STRETTO_ONLINE": "1"}, Verdict.ABSENT, "not used: STRETTO_REP"),
    ],
)
def test_what_jobs_do_in_words(environment: dict[str, str], verdict: Verdict, detail: str) -> None:
    found = by_source(environment)["learnt, modelled"]
    assert found.verdict is verdict
    assert found.detail.startswith(detail)


def test_nothing_else_counts_when_disabled() -> None:
    (finding,) = list_choices({"STRETTO_DISABLE": "1", "STRETTO_ALLREDUCE": "ring"})
    assert finding.detail == "the MPI library handles all calls (STRETTO_DISABLE=1)"


def write_fabric(folder: Path, name: str, network: str = "", **content: Any) -> Path:
    file = folder / "fabrics" / name
    file.parent.mkdir(exist_ok=True)
    fabric = {"mpi": "Open MPI 4.1.4", "network": network, "processor": "Some CPU", "hosts": "node#"}
    known = {"format": "stretto-fabric", "version": 1, "fabric": fabric, "decisions": [], **content}
    file.write_text(json.dumps(known))
    return file


def test_nothing_is_known(tmp_path: Path) -> None:
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert finding.verdict is Verdict.ABSENT
    detail = "there are no findings yet; the first job with larger calls between nodes measures its network"
    assert finding.detail == detail
    write_fabric(tmp_path, "openmpi-1.json")
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path), "STRETTO_FABRIC": "none"})
    assert finding.detail == "jobs neither keep nor use findings (STRETTO_FABRIC=none)"


def test_what_is_known(tmp_path: Path) -> None:
    dates = ("2026-11-24", "2026-11-20", None)
    decisions = [
        DECISION | {"from": 1 << number} | ({"when": date} if date else {})
        for number, date in enumerate(dates)
    ]
    file = write_fabric(tmp_path, "openmpi-1.json", "BTL=tcp", decisions=decisions, measured=MEASURED)
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert (finding.verdict, finding.what) == (Verdict.GOOD, str(file))
    assert finding.detail == (
        "Open MPI 4.1.4, hosts node#, Some CPU; BTL=tcp; measured 2026-11-24 between 2 nodes: "
        "latency 50 µs, bandwidth 23.9 MB/s; 3 decisions of 2026-11-20 to 2026-11-24"
    )


def test_what_is_known_in_part(tmp_path: Path) -> None:
    write_fabric(tmp_path, "openmpi-1.json", "x" * 500, decisions=[DECISION])
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert finding.detail.endswith("xxx...; not measured yet; 1 decision")
    assert len(finding.detail) < 200
    write_fabric(tmp_path, "openmpi-1.json", decisions=[DECISION | {"when": "2026-11-24"}])
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert finding.detail.endswith("; not measured yet; 1 decision of 2026-11-24")
    write_fabric(tmp_path, "openmpi-1.json", measured=MEASURED)
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert finding.detail.endswith("; no decision")


def test_what_a_busy_machine_found_is_marked(tmp_path: Path) -> None:
    decisions = [DECISION | {"busy": 0.3}, DECISION | {"from": "2MiB", "busy": 0.05}]
    write_fabric(tmp_path, "openmpi-1.json", decisions=decisions, measured=MEASURED | {"busy": 0.25})
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert (
        "; measured on a busy machine: other processes had a rank's core for 25 % of the time"
        in finding.detail
    )
    assert finding.detail.endswith("; 2 decisions, 1 of them on a busy machine")


def test_a_slow_link_is_named(tmp_path: Path) -> None:
    machine = MEASURED["machine"] | {"limits": {"node": {"bandwidth": 6e6, "rates": [2.4e7, 2.3e7, 6e6]}}}
    write_fabric(tmp_path, "openmpi-1.json", measured=MEASURED | {"machine": machine})
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert "; links differ: the fastest has 24.0 MB/s, that of node 2 6.00 MB/s; " in finding.detail


def test_what_connections_carry_is_named(tmp_path: Path) -> None:
    write_fabric(tmp_path, "openmpi-1.json", measured=MEASURED | {"connections_from": 32768, "streams": 4})
    (finding,) = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert "; connections of Stretto's own carry messages of 32 KiB and more; 4 connections" in finding.detail


def test_a_damaged_file_harms_nobody(tmp_path: Path) -> None:
    good, bad = (write_fabric(tmp_path, name) for name in ("openmpi-1.json", "mpich-2.json"))
    bad.write_text('{"format": "stretto-fabric", "version": 1}')
    for second, file in enumerate((good, bad)):
        os.utime(file, (second, second))
    # The latest is the first.
    wrong, right = list_fabrics({"STRETTO_CACHE": str(tmp_path)})
    assert (wrong.verdict, wrong.what) == (Verdict.ABSENT, str(bad))
    assert wrong.detail.endswith("; jobs ignore this file and replace it")
    assert str(bad) not in wrong.detail
    assert (right.verdict, right.what) == (Verdict.GOOD, str(good))
