# SPDX-License-Identifier: Apache-2.0
"""The source of the choice for a call in a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stretto import _core
from stretto.cli.main import app
from stretto.explain.choices import NO_TABLE, Claim, find_claims, read_job_table
from stretto.model.fabric_file import read_fabric
from stretto.model.walker import Call, machine_text
from stretto.support.errors import StrettoError

MIB = 1 << 20
WHERE = "nodes=3,ppn=1"
CALL = Call("allreduce", MIB, WHERE)
DECISION: dict[str, Any] = {
    "nodes": 3,
    "ppn": 1,
    "call": "allreduce",
    "from": "1MiB",
    "spec": "ring:segment_bytes=48KiB",
    "gain": 1.62,
    "when": "2026-11-23",
}
MEASURED: dict[str, Any] = {
    "nodes": 2,
    "ppn": 1,
    "when": "2026-11-24",
    "machine": {
        "name": "probed",
        "levels": {"network": [{"from": 0, "latency": 4e-5, "bandwidth": 2.4e7}]},
        "limits": {"node": {"bandwidth": 2.4e7}},
        "engine": {"message": 2e-6, "round": 0},
    },
}


INSIDE: dict[str, Any] = {
    "nodes": 1,
    "ppn": 4,
    "when": "2026-11-24",
    "machine": {"name": "probed", "levels": {"node": [{"from": 0, "latency": 1e-6, "bandwidth": 5e9}]}},
}


@pytest.fixture(autouse=True)
def no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_TABLE", "none")


def fabric_file(
    folder: Path,
    decisions: list[dict[str, Any]],
    measured: dict[str, Any] | None,
    mpi: str = "Open MPI 4.1.4",
) -> Path:
    file = folder / "openmpi-0123456789abcdef.json"
    content: dict[str, Any] = {
        "format": "stretto-fabric",
        "version": 1,
        "fabric": {"mpi": mpi, "network": "", "processor": "Some CPU", "hosts": "node#"},
        "decisions": decisions,
    }
    if measured:
        content["measured"] = measured
    file.write_text(json.dumps(content))
    return file


def table_file(folder: Path, *rows: dict[str, Any], mpi: str = "Open MPI 4.1.4") -> Path:
    file = folder / "table.json"
    shapes = [{"nodes": 3, "ppn": 1, "allreduce": list(rows)}]
    file.write_text(json.dumps({"format": "stretto-table", "version": 1, "mpi": mpi, "shapes": shapes}))
    return file


def claims_of(
    folder: Path,
    call: Call = CALL,
    decisions: list[dict[str, Any]] | None = None,
    measured: dict[str, Any] | None = MEASURED,
    table: Path | None = None,
    environment: Mapping[str, str] | None = None,
    **more: str,
) -> list[Claim]:
    known = read_fabric(fabric_file(folder, [DECISION] if decisions is None else decisions, measured))
    found = find_claims(call, read_job_table(table, "openmpi"), {**(environment or {}), **more}, known)
    assert sum(one.decides for one in found) == 1
    return found


def deciding(found: list[Claim]) -> Claim:
    return next(one for one in found if one.decides)


SOURCES = ["forced", "table", "learnt", "modelled", "rule"]


def by_source(found: list[Claim]) -> dict[str, Claim]:
    """The first claim of each source."""
    return {one.source: one for one in reversed(found)}


def test_the_order_in_which_they_count(tmp_path: Path) -> None:
    found = claims_of(tmp_path)
    # One source after the other; the model names several specs.
    assert list(dict.fromkeys(one.source for one in found)) == SOURCES
    assert deciding(found) is found[2]
    assert [one.spec for one in found[:2]] == [None, None]


def test_a_duel_decides(tmp_path: Path) -> None:
    learnt = deciding(claims_of(tmp_path))
    assert (learnt.source, learnt.spec, learnt.gain) == ("learnt", DECISION["spec"], 1.62)
    assert learnt.when == "2026-11-23"
    reason = "a duel of 2026-11-23, from 1 MiB, below 2 MiB, 1.62 times as fast as the MPI default"
    assert learnt.reason == reason
    assert not learnt.is_busy


def test_a_duel_has_its_figures(tmp_path: Path) -> None:
    figures = {"seconds": 0.0597, "bytes": "1MiB", "busy": 0.2}
    learnt = deciding(claims_of(tmp_path, decisions=[DECISION | figures]))
    assert learnt.reason.startswith("a duel of 2026-11-23 on a busy machine, ")
    assert learnt.reason.endswith(" as fast as the MPI default, 59.7 ms for 1 MiB")
    assert (learnt.seconds, learnt.is_busy) == (0.0597, True)


def test_without_a_duel_the_model_decides_until_there_is_one(tmp_path: Path) -> None:
    found = claims_of(tmp_path, decisions=[])
    modelled = [one for one in found if one.source == "modelled"]
    first, second = modelled[:2]
    assert first.decides
    machine = _core.Machine(
        json.dumps({"format": "stretto-machine", "version": 1, **MEASURED["machine"]}),
    )
    fastest = _core.find_modelled("allreduce", MIB, _core.Topology(WHERE), machine)
    assert [(one.spec, one.seconds, MIB) for one in modelled] == fastest
    assert first.reason.startswith("the network's model: ")
    assert first.reason.endswith(" for 1 MiB")
    assert (first.is_compared, second.is_compared) == (True, False)
    learnt = by_source(found)["learnt"]
    assert learnt.reason == "no duel was decided for 3 nodes with 1 rank, from 1 MiB, below 2 MiB"


def test_an_unmeasured_network_leaves_the_rule(tmp_path: Path) -> None:
    found = claims_of(tmp_path, decisions=[], measured=None)
    assert deciding(found).source == "rule"
    assert deciding(found).spec == _core.choose("allreduce", MIB, _core.Topology(WHERE))
    row = "between nodes: allreduce !pof2 bytes>=32KiB block>=8KiB -> ring:segment_bytes={16KiB*ranks}"
    assert deciding(found).row == row
    assert by_source(found)["modelled"].reason == "no job has measured this network; larger calls do"


@pytest.mark.parametrize("size", [8, 4096, MIB])
def test_without_mpi_the_models_best_is_taken(size: int, tmp_path: Path) -> None:
    known = read_fabric(fabric_file(tmp_path, [], MEASURED, "Stretto sockets 0.1.0"))
    call = Call("allreduce", size, WHERE)
    found = find_claims(call, NO_TABLE, {"STRETTO_TABLE": "none"}, known, has_library=False)
    fastest = _core.find_modelled(
        "allreduce", size, _core.Topology(WHERE), known.machine_for(3), has_library=False
    )
    decides = deciding(found)
    assert (decides.source, decides.spec, decides.is_compared) == ("modelled", fastest[0][0], True)
    assert [one.spec for one in found if one.source == "modelled"] == [spec for spec, _, _ in fastest]
    assert by_source(found)["learnt"].spec is None
    assert by_source(found)["rule"].spec != "native"
    result = CliRunner().invoke(app, ["explain", "--fabric", str(known.path), "--bytes", str(size)])
    assert result.exit_code == 0
    output = result.output
    assert "MPI default" not in output.replace("there is no MPI default", "")
    assert "│ native" not in output


def test_without_mpi_a_race_of_an_earlier_job_decides(tmp_path: Path) -> None:
    decision = DECISION | {"call": "iallreduce", "in_place": True}
    known = read_fabric(fabric_file(tmp_path, [decision], MEASURED, "Stretto sockets 0.1.0"))
    decides = deciding(find_claims(CALL, NO_TABLE, {"STRETTO_TABLE": "none"}, known, has_library=False))
    assert (decides.source, decides.spec, decides.is_compared) == ("learnt", decision["spec"], False)
    assert "as fast as the choice before" in decides.reason


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("native", "the job has no MPI library"),
        ("multilane", "does not fit"),
        ("native:segments=2", "no MPI library"),
    ],
)
def test_without_mpi_what_cannot_be_is_refused_as_in_a_job(wanted: str, reason: str, tmp_path: Path) -> None:
    known = read_fabric(fabric_file(tmp_path, [], MEASURED, "Stretto sockets 0.1.0"))
    found = find_claims(CALL, NO_TABLE, {"STRETTO_ALLREDUCE": wanted}, known, has_library=False)
    rule = by_source(found)["rule"].spec
    decides = deciding(found)
    assert (decides.source, decides.spec) == ("forced", rule)
    assert rule != "native"
    assert decides.reason.startswith(f"STRETTO_ALLREDUCE={wanted}, which ")
    assert reason in decides.reason
    strict = {"STRETTO_ALLREDUCE": wanted, "STRETTO_STRICT": "1"}
    fails = deciding(find_claims(CALL, NO_TABLE, strict, known, has_library=False))
    assert fails.reason == f"{decides.reason}; the call fails (STRETTO_STRICT)"


def test_a_duel_in_place_is_another_one(tmp_path: Path) -> None:
    found = claims_of(tmp_path, decisions=[DECISION | {"in_place": True}])
    assert deciding(found).source == "modelled"
    assert by_source(found)["learnt"].reason.endswith(f"; with MPI_IN_PLACE: {DECISION['spec']}")


def test_the_mpi_default_may_win_a_duel(tmp_path: Path) -> None:
    learnt = deciding(claims_of(tmp_path, decisions=[{**DECISION, "spec": "native"}]))
    assert (learnt.source, learnt.spec) == ("learnt", "native")


def test_a_variable_comes_first(tmp_path: Path) -> None:
    table = table_file(tmp_path, {"from": 0, "spec": "ring"})
    found = deciding(claims_of(tmp_path, table=table, STRETTO_ALLREDUCE="swing"))
    assert (found.source, found.spec, found.reason) == ("forced", "swing", "STRETTO_ALLREDUCE")
    assert deciding(claims_of(tmp_path, STRETTO_BCAST="chain")).source == "learnt"
    assert deciding(claims_of(tmp_path, STRETTO_ALLREDUCE="auto")).source == "learnt"
    off = deciding(claims_of(tmp_path, STRETTO_DISABLE="1", STRETTO_ALLREDUCE="no spec"))
    assert (off.source, off.spec) == ("forced", "native")
    with pytest.raises(StrettoError, match="STRETTO_ALLREDUCE=rign: "):
        claims_of(tmp_path, STRETTO_ALLREDUCE="rign")


def test_a_forced_spec_that_does_not_fit_is_the_mpi_default(tmp_path: Path) -> None:
    found = deciding(claims_of(tmp_path, STRETTO_ALLREDUCE="multilane"))
    assert (found.source, found.spec) == ("forced", "native")
    assert found.reason.startswith("STRETTO_ALLREDUCE=multilane, which does not fit: ")


def test_a_table_comes_before_what_was_found_out(tmp_path: Path) -> None:
    table = table_file(tmp_path, {"from": 0, "to": "4MiB", "spec": "swing", "gain": 1.5})
    found = deciding(claims_of(tmp_path, table=table))
    assert (found.source, found.spec) == ("table", "swing")
    assert found.reason.startswith(f"{table}: 3 nodes with 1 rank,")
    longer = Call("allreduce", 8 * MIB, WHERE)
    assert deciding(claims_of(tmp_path, longer, table=table)).source == "modelled"


def test_a_table_of_another_library_is_not_used(tmp_path: Path) -> None:
    table = table_file(tmp_path, {"from": 0, "spec": "swing"}, mpi="MPICH 4.0.2")
    found = claims_of(tmp_path, table=table)
    assert deciding(found).source == "learnt"
    assert by_source(found)["table"].reason.startswith(f"{table} ")


def test_a_row_that_does_not_fit_is_passed_over(tmp_path: Path) -> None:
    found = claims_of(tmp_path, table=table_file(tmp_path, {"from": 0, "spec": "multilane"}))
    assert deciding(found).source == "learnt"
    assert "does not fit" in by_source(found)["table"].reason


@pytest.mark.parametrize(
    ("environment", "source", "unused"),
    [
        ({"STRETTO_ONLINE": "0"}, "rule", ["learnt", "modelled"]),
        ({"STRETTO_ONLINE": "freeze"}, "learnt", ["modelled"]),
        ({"STRETTO_ONLINE": "1"}, "learnt", []),
        ({"STRETTO_REPRODUCIBLE": "1"}, "rule", ["learnt", "modelled"]),
        ({"STRETTO_CHECK": "1"}, "rule", ["learnt", "modelled"]),
    ],
)
def test_settings_that_leave_something_out(
    environment: dict[str, str], source: str, unused: list[str], tmp_path: Path
) -> None:
    found = claims_of(tmp_path, environment=environment)
    assert deciding(found).source == source
    sources = by_source(found)
    (setting,) = [f"{name}={value}" for name, value in environment.items()]
    for name in ("learnt", "modelled"):
        assert (sources[name].reason == f"not used: {setting}") is (name in unused)
    # It says no time, so only a duel shows whether it holds.
    assert deciding(found).is_compared is (not unused)


def test_a_duel_with_a_time_is_believed(tmp_path: Path) -> None:
    found = deciding(claims_of(tmp_path, decisions=[DECISION | {"seconds": 0.0597, "bytes": "1MiB"}]))
    assert (found.source, found.is_compared) == ("learnt", False)


def test_reproducible_calls_reduce_by_the_fixed_tree(tmp_path: Path) -> None:
    where = _core.Topology(WHERE)
    table = table_file(tmp_path, {"from": 0, "spec": "ring"})
    found = claims_of(tmp_path, table=table, STRETTO_REPRODUCIBLE="1")
    rule = deciding(found)
    assert rule.source == "rule"
    assert rule.spec is not None
    assert _core.has_fixed_tree("allreduce", _core.parse_spec(rule.spec).recipe, where)
    assert rule.row == "reproducible: allreduce ppn=1 bytes>=32KiB -> pairwise:segment_bytes={16KiB*ranks}"
    forced = deciding(claims_of(tmp_path, STRETTO_REPRODUCIBLE="1", STRETTO_ALLREDUCE="ring"))
    assert (forced.source, forced.spec) == ("forced", rule.spec)
    bcast = deciding(claims_of(tmp_path, Call("bcast", MIB, WHERE), STRETTO_REPRODUCIBLE="1"))
    assert bcast.spec == _core.choose("bcast", MIB, where)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Call("allreduce", 0, WHERE), "not used: calls below 1KiB go to the MPI library at once"),
        (Call("allreduce", 1023, WHERE), "not used: calls below 1KiB go to the MPI library at once"),
        (Call("bcast", 4095, "nodes=1,ppn=24"), "go to the MPI library at once"),
    ],
)
def test_short_calls_are_left_to_the_library(call: Call, reason: str, tmp_path: Path) -> None:
    found = claims_of(tmp_path, call)
    assert deciding(found).spec == "native"
    assert by_source(found)["modelled"].reason.endswith(reason)
    assert by_source(found)["learnt"].reason.endswith(reason)


@pytest.mark.parametrize(("ppn", "spec"), [(4, "recursive_multiplying:radix=4"), (24, "recursive_doubling")])
def test_short_calls_inside_a_node_have_a_race(ppn: int, spec: str, tmp_path: Path) -> None:
    found = claims_of(tmp_path, Call("allreduce", 4095, f"nodes=1,ppn={ppn}"))
    assert deciding(found).spec == spec
    assert by_source(found)["modelled"].reason.endswith(
        "calls below 4KiB have a race with the MPI library instead"
    )


def explain(*options: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["explain", "--bytes", "1MiB", "--nodes", "3", *options])
    assert result.exit_code == status, result.output
    return result.output


def test_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    file = fabric_file(tmp_path, [DECISION | {"seconds": 0.0597, "bytes": "1MiB"}], MEASURED)
    output = explain("--fabric", str(file))
    assert "allreduce of 1 MiB, 3 ranks on 3 nodes (probed)" in output
    assert "whose choice it is in a job" in output
    speed = "measured 2026-11-24 between 2 nodes: latency 44 µs, bandwidth 24.0 MB/s"
    assert output.startswith(f"network: Open MPI 4.1.4, hosts node#, {speed} ({file})\n")
    assert "first calls compare" not in output
    words = [line.removeprefix(" *").split()[0] for line in output.splitlines() if line.strip()]
    assert list(dict.fromkeys(word for word in words if word in SOURCES)) == SOURCES
    assert "*: in force: ring:segment_bytes=48KiB, by a duel of 2026-11-23" in output
    assert "ring:segment_bytes=48KiB" in words
    assert "--fabric latest" not in output
    fabric_file(tmp_path, [], MEASURED)
    output = explain("--fabric", str(file))
    assert ", by the network's model: " in output
    assert "a job's first calls compare it with the MPI default, and the fastest stays\n" in output


def test_the_network_is_named_first_and_others_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    monkeypatch.delenv("STRETTO_FABRIC", raising=False)
    folder = tmp_path / "fabrics"
    folder.mkdir()
    for name in ("first", "second"):
        fabric_file(folder, [], MEASURED).rename(folder / f"{name}.json")
    for options in (["--bytes", "1MiB", "--nodes", "3"], []):
        output = CliRunner().invoke(app, ["explain", "allreduce", "--fabric", "second", *options]).output
        network, others, *_ = output.splitlines()
        assert network.startswith("network: Open MPI 4.1.4, hosts node#, measured ")
        assert network.endswith("second.json)")
        assert others == "jobs know 1 other network (stretto fabric list); --fabric FILE names one"


def test_what_a_busy_machine_found_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    file = fabric_file(tmp_path, [DECISION | {"busy": 0.5}], MEASURED | {"busy": 0.5})
    output = explain("--fabric", str(file))
    assert "\nmeasured on a busy machine: other processes had a rank's core for 50 % of the time" in output
    assert "a duel of 2026-11-23 on a busy machine" in output
    assert "the network's model, measured on a busy machine: " in output
    content = json.loads(explain("--fabric", str(file), "--json"))
    assert content["fabric"]["measured"]["busy"] == 0.5


def test_without_a_fabric_a_line_names_the_option() -> None:
    output = " ".join(explain("--machine", "altec").split())
    assert "jobs also use what they have found out about their network: add --fabric latest" in output
    assert "no network is known" in output
    assert "a job that measures such a network compares these with the MPI default: " in output


def test_what_programs_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fabrics").mkdir()
    file = fabric_file(tmp_path / "fabrics", [DECISION], MEASURED)
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    monkeypatch.delenv("STRETTO_FABRIC")
    content = json.loads(explain("--fabric", "latest", "--json"))
    assert content["machine"] == "probed"
    assert content["in_force"]["spec"] == DECISION["spec"]
    assert content["in_force"]["source"] == "learnt"
    assert content["fabric"] == {
        "path": str(file),
        "mpi": "Open MPI 4.1.4",
        "hosts": "node#",
        "measured": {"nodes": 2, "ppn": 1, "when": "2026-11-24", "busy": None},
    }
    sources = [one["source"] for one in content["choices"]]
    assert list(dict.fromkeys(sources)) == SOURCES
    assert [one["source"] for one in content["choices"] if one["decides"]] == ["learnt"]
    assert content["choices"][2]["gain"] == 1.62
    assert content["choices"][3]["seconds"] > 0
    assert "fabric" not in json.loads(explain("--machine", "altec", "--json"))


def test_a_fabric_that_was_not_measured_needs_a_machine(tmp_path: Path) -> None:
    file = fabric_file(tmp_path, [DECISION], None)
    refused = explain("--fabric", str(file), status=2)
    assert refused == f"stretto: {file}: no job has measured this network; give --machine, too\n"
    content = json.loads(explain("--fabric", str(file), "--machine", "altec", "--json"))
    assert (content["machine"], content["fabric"]["measured"]) == ("altec", None)
    assert content["in_force"]["source"] == "learnt"


def test_the_table_is_that_of_the_fabrics_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("STRETTO_TABLE")
    (tmp_path / "stretto").mkdir()
    table = table_file(tmp_path, {"from": 0, "spec": "swing"}).rename(
        tmp_path / "stretto" / "table-openmpi.json"
    )
    file = fabric_file(tmp_path, [DECISION], MEASURED)
    content = json.loads(explain("--fabric", str(file), "--json"))
    assert (content["in_force"]["source"], content["in_force"]["spec"]) == ("table", "swing")
    assert str(table) in content["in_force"]["reason"]
    file.write_text(file.read_text().replace("Open MPI 4.1.4", "MPICH 4.0.2"))
    content = json.loads(explain("--fabric", str(file), "--json"))
    assert content["in_force"]["source"] == "learnt"


def explained(*options: str) -> Result:
    return CliRunner().invoke(app, ["explain", "--bytes", "1MiB", *options])


def test_what_was_measured_inside_a_node_says_nothing_of_several(tmp_path: Path) -> None:
    file = fabric_file(tmp_path, [], INSIDE)
    result = explained("--fabric", str(file), "--nodes", "8")
    reason = "measured 2026-11-24 inside one node, so it has no figures for links between nodes"
    assert (result.exit_code, result.stderr) == (
        2,
        f"stretto: {file}: {reason}; give --nodes 1, or --machine, too\n",
    )
    result = explained("--fabric", str(file), "--nodes", "8", "--machine", "altec")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "no job has measured this network between nodes" in " ".join(result.stdout.split())
    # Without a topology, the one that was measured.
    result = explained("--fabric", str(file))
    assert result.exit_code == 0
    assert "allreduce of 1 MiB, 4 ranks on one node" in result.stdout
    assert "link needs" not in result.stdout
    two = explained("--fabric", str(fabric_file(tmp_path, [], MEASURED)))
    assert "allreduce of 1 MiB, 2 ranks on 2 nodes" in two.stdout


def test_without_a_machine_it_is_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_FABRIC", "none")
    result = explained()
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "give --machine, with a file of stretto calibrate or one of altec, " in result.stderr
    monkeypatch.setenv("STRETTO_FABRIC", str(fabric_file(tmp_path, [], MEASURED)))
    assert "2 ranks on 2 nodes (probed)" in explained().stdout
    (tmp_path / "machine.json").write_text(machine_text("altec"))
    assert "8 ranks on 8 nodes (altec)" in explained().stdout


def test_a_machine_that_was_measured_inside_a_node(tmp_path: Path) -> None:
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps({"format": "stretto-machine", "version": 1, **INSIDE["machine"]}))
    result = CliRunner().invoke(app, ["explain", "--nodes", "8", "--machine", str(machine)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "it was measured inside one node, so it has no figures for links between nodes" in result.stderr
