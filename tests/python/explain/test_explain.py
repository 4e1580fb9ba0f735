# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto import _core
from stretto.cli.main import app
from stretto.explain.measured import Measured, read_measured
from stretto.model.walker import Call, machine_text
from stretto.support.errors import StrettoError

WHERE = "nodes=8,ppn=1"


def run_file(folder: Path, times: dict[str, float], size: int = 16 << 20) -> Path:
    """Writes a file of stretto bench -o for one size."""
    results = [
        {
            "bytes": size,
            "in_place": False,
            "spec": spec,
            "form": "blocking",
            "chosen": spec,
            "correct": True,
            "inner": 1,
            "with_barrier": False,
            "seconds": [0.9 * seconds, seconds, 1.2 * seconds],
        }
        for spec, seconds in times.items()
    ]
    content = {
        "format": "stretto-bench",
        "collective": "allreduce",
        "mpi": "Open MPI v4.1.4",
        "ranks": 8,
        "nodes": 8,
        "ppn": [1] * 8,
        "type": "float",
        "results": results,
    }
    file = folder / "run.json"
    file.write_text(json.dumps(content))
    return file


def explain(*options: str) -> str:
    result = CliRunner().invoke(app, ["explain", "--machine", "altec", *options])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_rule_is_in_force_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_TABLE", "none")
    output = explain("--bytes", "16MiB", "--nodes", "8")
    chosen = _core.choose("allreduce", 16 << 20, _core.Topology(WHERE))
    assert f"*: in force: {chosen}, by the built-in rule" in output
    assert "the links need" in output
    row = "between nodes: allreduce pof2 bytes>=64KiB block>=64KiB -> ring:segment_bytes={16KiB*ranks}"
    assert f"the rule's row: {row}" in output
    assert "the rule's row: no row holds" in explain("bcast", "--bytes", "1KiB", "--nodes", "8")


def test_the_whole_rule() -> None:
    output = explain("--rule")
    assert "message = 16KiB, least_message = 8KiB" in output
    assert "[between nodes]" in output.splitlines()
    content = json.loads(explain("--rule", "--json"))
    assert {"name": "message", "bytes": 16 << 10} in content["figures"]
    expected = {
        "section": "inside a node",
        "calls": "bcast,reduce",
        "conditions": "memory ranks=2 bytes>=in_memory_of_pair",
        "spec": "binomial",
    }
    assert expected in content["rows"]


def test_messages_inside_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_TABLE", "none")
    monkeypatch.delenv("STRETTO_SHM", raising=False)
    output = " ".join(explain("--topology", "ppn=8,l3=2").split())
    assert "messages go through shared memory, between 2 groups of ranks that share a last-level" in output
    assert "this machine's file does not say how fast" in output
    assert "the rule inside a node: recursive_multiplying:radix=8, from 16 KiB on two_shot" in output
    monkeypatch.setenv("STRETTO_SHM", "0")
    output = explain("--bytes", "64KiB", "--topology", "ppn=8")
    assert "inside a node, the MPI library carries the messages (STRETTO_SHM=0)" in output
    where = _core.Topology("ppn=8")
    chosen = _core.choose("allreduce", 64 << 10, where, shares_memory=False)
    assert chosen != _core.choose("allreduce", 64 << 10, where)
    assert f"*: in force: {chosen}" in output
    assert "inside a node" not in explain("--nodes", "8")


def test_messages_between_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_TABLE", "none")
    assert "connections" not in explain("--nodes", "8")
    for value, which in (
        ("1", "long messages"),
        ("64KiB", "messages of 64KiB and more"),
        ("auto", "long messages where a job has measured that they are faster"),
    ):
        monkeypatch.setenv("STRETTO_CONNECTIONS", value)
        line = f"connections of Stretto's own carry {which} (STRETTO_CONNECTIONS={value})"
        assert line in " ".join(explain("--nodes", "8").split())
        assert "connections" not in explain("--topology", "ppn=8")


def test_a_machine_that_knows_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRETTO_SHM", raising=False)
    content = json.loads(machine_text("altec"))
    rows = [{"from": 0, "bandwidth": 1e11}]
    content["shared"] = {"latency": 1e-8, "piece": 1e-8, "write": rows, "read": rows, "reduce": rows}
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps(content))

    def fastest() -> float:
        options = ("--machine", str(machine), "--topology", "ppn=8", "--bytes", "16MiB", "--json")
        shown = json.loads(explain(*options))
        assert len(shown["inside_a_node"]) > 0
        return float(min(one["predicted"] for one in shown["candidates"] if one["spec"] != "native"))

    shared = fastest()
    monkeypatch.setenv("STRETTO_SHM", "0")
    assert shared < 0.5 * fastest()


def test_what_programs_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_TABLE", "none")
    content = json.loads(explain("--bytes", "16MiB", "--nodes", "8", "--json"))
    assert (content["format"], content["version"]) == ("stretto-explanation", 1)
    assert (content["collective"], content["bytes"]) == ("allreduce", 16 << 20)
    assert content["in_force"]["spec"] == _core.choose("allreduce", 16 << 20, _core.Topology(WHERE))
    assert content["in_force"]["reason"] == "the built-in rule"
    assert content["in_force"]["row"].startswith("between nodes: allreduce pof2")
    times = [one["predicted"] for one in content["candidates"]]
    assert times == sorted(times)
    assert 0 < content["bound"] <= times[0]
    assert sum(content["candidates"][0]["parts"].values()) == pytest.approx(times[0])
    assert content["verdict"]


def test_a_table_is_in_force(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    rows = [{"from": 0, "spec": "native"}, {"from": "1MiB", "spec": "ring:segments=16", "gain": 1.9}]
    content = {
        "format": "stretto-table",
        "version": 1,
        "mpi": "Open MPI 4.1.4",
        "shapes": [{"nodes": 8, "ppn": 1, "allreduce": rows}],
    }
    table.write_text(json.dumps(content))
    output = explain("--bytes", "16MiB", "--table", str(table))
    assert f"*: in force: ring:segments=16, by {table}: 8 nodes with 1 rank, from 1 MiB on" in output
    assert "the rule's row" not in output
    assert "1.90 times as fast as native" in output
    rows[1]["to"] = "16MiB"
    table.write_text(json.dumps(content))
    assert "from 1 MiB to 16 MiB, measured" in explain("--bytes", "16MiB", "--table", str(table))
    assert "built-in rule" in explain("--bytes", "32MiB", "--table", str(table))
    # For 9 nodes the nearest shape decides, and the output says so.
    assert "the nearest to this one" in explain("--bytes", "16MiB", "--nodes", "9", "--table", str(table))
    assert "by the built-in rule" in explain("bcast", "--bytes", "16MiB", "--table", str(table))


def test_what_was_measured_ranks_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_TABLE", "none")
    file = run_file(tmp_path, {"native": 0.010, "swing": 0.001, "auto": 0.005})
    output = explain("--bytes", "16MiB", "--measured", str(file))
    first = output.splitlines()[4].split()
    assert first[0] == "swing"
    assert " ".join(first[3:5]) == "1 ms"


def test_a_table_that_is_wrong(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text("{}")
    result = CliRunner().invoke(app, ["explain", "--machine", "altec", "--table", str(table)])
    assert result.exit_code != 0
    assert str(table) in result.output


def test_a_file_that_holds_no_times(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text('{"format": "stretto-machine"}')
    with pytest.raises(StrettoError, match="expected a file of stretto bench or stretto study"):
        read_measured([file])


def test_times_are_found_whatever_the_topology_is_called() -> None:
    measured = Measured()
    measured.by_call[Call("allreduce", 8, "ppn=1+1")]["ring"] = 1.0
    assert measured.times(Call("allreduce", 8, "nodes=2,ppn=1")) == {"ring": 1.0}
    assert measured.times(Call("allreduce", 8, "nodes=1,ppn=2")) == {}


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ({}, "measured"),
        ({"tuning": "edited by hand"}, "measured"),
        ({"tuning": [{"nodes": 8, "ppn": 1, "call": "allreduce", "load": {"busy": []}}]}, "measured"),
        ({"tuning": [{"nodes": 4, "ppn": 1, "call": "allreduce", "load": {"busy": ["x"]}}]}, "measured"),
        (
            {"tuning": [{"nodes": 8, "ppn": 1, "call": "allreduce", "load": {"busy": ["x"]}}]},
            "measured on a busy machine: tune again on an idle one",
        ),
    ],
)
def test_a_table_of_a_busy_machine_is_known_as_such(notes: object, said: str, tmp_path: Path) -> None:
    rows = [{"from": 0, "spec": "ring"}]
    table = {
        "format": "stretto-table", "version": 1, "mpi": "Open MPI 4.1.4",
        "shapes": [{"nodes": 8, "ppn": 1, "allreduce": rows}], "notes": notes,
    }  # fmt: skip
    file = tmp_path / "table.json"
    file.write_text(json.dumps(table))
    output = " ".join(explain("--bytes", "16MiB", "--nodes", "8", "--table", str(file)).split())
    assert f"from 0 B on, {said}" in output
    assert ("busy machine" in output) is ("busy" in said)
