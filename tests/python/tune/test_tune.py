# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from stretto import _core
from stretto.cli import tune
from stretto.support.errors import StrettoError
from stretto.tune.findings import CallKind

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(tune.tune)

# In place of the measuring program: a call takes a microsecond per byte, `ring` half of that.
PROGRAM = """
import json, os, sys
def say(**event): print(json.dumps(event, separators=(",", ":")), flush=True)
open({log!r}, "a").write("started\\n")
say(event="ready", library={library!r}, ranks=2, nodes=2, ppn=[1, 1],
    algorithms={{"allreduce": {{"blocking": ["linear", "broken"]}}}}, by_launch=False, stretto="0.1.0")
for count, line in enumerate(sys.stdin):
    if line.strip() == "end": break
    words = line.split()
    options = dict(zip(words[::2], words[1::2]))
    specs, size = options["--specs"].split(","), int(options["--sizes"])
    open({log!r}, "a").write(line)
    if size >= {dies_at}: sys.exit(3)
    if "native(broken)" in specs:
        say(event="error", message="spec native(broken) (blocking): not for 2 ranks")
        continue
    say(event="start", collective="allreduce", root=0, library={library!r}, ranks=2, nodes=2, ppn=[1, 1],
        specs=specs, sizes=[size], type="float", stretto="0.1.0")
    for spec in specs:
        second = size * 1e-6 * (0.5 if spec == "ring" else 1.0 if spec == "native" else 2.0)
        say(event="result", bytes=size, in_place=False, spec=spec, chosen=spec, inner=1, form="blocking",
            seconds=[second] * int(options["--repetitions"]), correct=spec != "swing")
    say(event="end")
"""


def let_answer(program: MeasuringProgram, library: str = "Open MPI v4.1.4", dies_at: int = 1 << 60) -> Path:
    log = program.folder / "log"
    code = PROGRAM.format(log=str(log), library=library, dies_at=dies_at)
    program.let_run(f"exec {sys.executable} -c {shlex.quote(code)}")
    return log


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def own(output: Path, *options: str) -> tuple[str, ...]:
    return (*options, "--output", str(output), "--mpi", "openmpi", "--", "env")


def rows(output: Path) -> list[dict[str, Any]]:
    table: dict[str, Any] = json.loads(output.read_text())
    _core.read_table(output.read_text())
    return list(table["shapes"][0]["allreduce"])


SHORT = ("--sizes", "64,256,1KiB", "--budget", "20s")


def test_a_table_is_made_of_what_was_measured(program: MeasuringProgram, tmp_path: Path) -> None:
    log = let_answer(program)
    output = tmp_path / "table.json"
    text = invoke(*own(output, *SHORT, "--link-rate", "1gbit"))
    assert rows(output) == [{"from": 0, "to": "1KiB", "spec": "ring", "gain": 2.0}]
    assert " 2.00 " in text
    assert f"written to {output}" in text
    table = json.loads(output.read_text())
    assert table["mpi"] == "Open MPI 4.1.4"
    assert (table["shapes"][0]["nodes"], table["shapes"][0]["ppn"]) == (2, 1)
    remarks = table["notes"]["tuning"][0]["remarks"]
    assert "allreduce: native(broken) is refused by the library: left out" in remarks
    assert any("swing gave wrong results" in remark for remark in remarks)
    assert not list(tmp_path.glob("*.journal"))
    assert log.read_text().count("started") == 1


def test_a_job_that_dies_leaves_what_was_finished_and_goes_on(
    program: MeasuringProgram, tmp_path: Path
) -> None:
    output = tmp_path / "table.json"
    let_answer(program, dies_at=1024)
    with pytest.raises(StrettoError, match=r"the job has ended.*stretto tune continues from"):
        invoke(*own(output, *SHORT))
    journal = tmp_path / "table.json.journal"
    assert journal.exists()
    log = let_answer(program)
    log.write_text("")
    invoke(*own(output, *SHORT))
    assert rows(output)[0]["spec"] == "ring"
    assert not journal.exists()


def test_what_was_decided_is_not_measured_again(program: MeasuringProgram, tmp_path: Path) -> None:
    output = tmp_path / "table.json"
    let_answer(program)
    journal = tmp_path / "table.json.journal"
    invoke(*own(output, "--sizes", "64", "--budget", "2s"))
    about = json.loads(output.read_text())["notes"]["tuning"][0]["measured"][0]
    estimate = {"median": 1.0, "low": 1.0, "high": 1.0, "coverage": 0.98}
    head = {
        "format": "stretto-tuning", "version": 1,
        "fingerprint": {
            "mpi": "Open MPI 4.1.4", "ppn": [1, 1], "network": "", "type": "float", "stretto": "0.1.0",
        },
    }  # fmt: skip
    chosen = {
        "event": "chosen", "call": "allreduce", "bytes": 64, "spec": "swing",
        "native": estimate | {"median": 6.4e-5}, "seconds": estimate, "gain": estimate,
        "library": None, "library_gain": None,
    }  # fmt: skip
    assert about["bytes"] == 64
    journal.write_text(f"{json.dumps(head)}\n{json.dumps(chosen)}\n")
    text = invoke(*own(output, "--sizes", "64", "--budget", "2s"))
    assert "swing" in text
    assert rows(output)[0]["spec"] == "swing"
    head["fingerprint"]["mpi"] = "Open MPI 4.1.5"  # type: ignore[index]
    journal.write_text(f"{json.dumps(head)}\n{json.dumps(chosen)}\n")
    invoke(*own(output, "--sizes", "64", "--budget", "2s"))
    assert rows(output)[0]["spec"] == "ring"


def test_a_budget_that_is_too_short_writes_nothing(program: MeasuringProgram, tmp_path: Path) -> None:
    let_answer(program)
    with pytest.raises(StrettoError, match=r"too short to decide anything of 16 MiB; .*nothing was"):
        invoke(*own(tmp_path / "table.json", "--sizes", "16MiB", "--budget", "2s"))
    assert not (tmp_path / "table.json").exists()


def test_a_table_of_another_library_is_kept_beside(program: MeasuringProgram, tmp_path: Path) -> None:
    output = tmp_path / "table.json"
    let_answer(program, "Open MPI v4.1.4")
    invoke(*own(output, "--sizes", "64", "--budget", "2s"))
    let_answer(program, "Open MPI v5.0.2")
    invoke(*own(output, "--sizes", "64", "--budget", "2s"))
    assert json.loads(output.read_text())["mpi"] == "Open MPI 5.0.2"
    assert json.loads((tmp_path / "table.json.old").read_text())["mpi"] == "Open MPI 4.1.4"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--collectives", "alltoallw"], "no collective 'alltoallw'"),
        (["--forms", "eager"], "expected some of blocking, non-blocking, persistent"),
        (["--budget", "5"], "'5' is not a time"),
        (["--lab", "--", "env"], "give --lab or -- LAUNCHER"),
        (["--output", "/nowhere/a.json"], "there is no folder /nowhere"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(arguments: list[str], message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        invoke(*arguments)


def test_a_library_that_tables_are_not_for(program: MeasuringProgram, tmp_path: Path) -> None:
    let_answer(program, "SMPI 3.32")
    with pytest.raises(StrettoError, match=r"SMPI 3\.32: tables are for Open MPI"):
        invoke(*own(tmp_path / "t.json"))


def test_kinds_of_calls() -> None:
    assert tune.parse_kinds("allreduce, bcast", "blocking,non-blocking") == [
        CallKind(collective, form)
        for collective in ("allreduce", "bcast")
        for form in ("blocking", "non-blocking")
    ]


@pytest.mark.measures
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_small_tuning(name: str, tmp_path: Path) -> None:
    output = tmp_path / "table.json"
    options = ("--collectives", "allreduce,bcast", "--sizes", "64,4KiB", "--budget", "8s", "--np", "2")
    text = invoke("--mpi", name, *options, "--output", str(output))
    table = json.loads(output.read_text())
    _core.read_table(output.read_text())
    assert {"allreduce", "bcast"} <= set(table["shapes"][0])
    measured = {entry["call"]: entry["measured"] for entry in table["notes"]["tuning"]}
    for call in ("allreduce", "bcast"):
        covered = {one["bytes"] for one in measured[call]}
        # A busy machine may leave no time for one of the sizes. Then the output says so.
        assert 4096 in covered
        assert 64 in covered or f"{call}: no time was left" in text
        assert all(one["gain_low"] > 1.01 for one in measured[call] if one["spec"] != "native")
    assert str(output) in text
