# SPDX-License-Identifier: Apache-2.0
"""The command: its requests to the measuring program, the results that it keeps, and one real job."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from stretto.bench.targets import Place, Target
from stretto.launch import jobs
from stretto.launch.jobs import Process
from stretto.support.errors import StrettoError
from stretto_research.cli import regret
from stretto_research.regret import measure, session

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(regret.regret)

# In place of the measuring program: a call takes a nanosecond a byte, `auto` half of that, `ring` a quarter.
PROGRAM = """
import json, os, sys
def say(**event): print(json.dumps(event, separators=(",", ":")), flush=True)
def log(text): open({log!r}, "a").write(text + "\\n")
names = ("STRETTO_ONLINE", "STRETTO_FABRIC", "STRETTO_TABLE", "MPIR_CVAR_CH4_NETMOD")
log("started " + " ".join(name + "=" + os.environ[name] for name in names if name in os.environ))
where = dict(library="Open MPI v4.1.4", ranks=2, nodes=2, ppn=[1, 1], stretto="0.1.0")
say(event="ready", algorithms={{}}, by_launch=False, **where)
for line in sys.stdin:
    if line.strip() == "end": break
    words = line.split()
    options = dict(zip(words[::2], words[1::2]))
    specs, size, collective = options["--specs"].split(","), int(options["--sizes"]), options["--collective"]
    asked = (options[name] for name in ("--specs", "--repetitions", "--cold"))
    log(" ".join((collective, str(size), *asked)))
    if (collective, size) == {dies_at}: sys.exit(3)
    say(event="start", collective=collective, root=0, specs=specs, sizes=[size], type="float", **where)
    for spec in specs:
        times = {{"native": 1.0, "auto": 0.5, "ring": 0.25}}
        seconds = [size * 1e-9 * times.get(spec, 2.0)] * int(options["--repetitions"])
        say(event="result", bytes=size, in_place=False, spec=spec, chosen=spec, inner=1,
            form="blocking", seconds=seconds, correct=(spec, size) != {wrong})
    say(event="end")
"""


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """Replaces targets: each starts one process here, wherever the job should run."""
    asked: list[Place] = []

    def find(place: Place, *, may_lack_mpi: bool) -> Target:
        assert may_lack_mpi

        def start(program: list[str], stdin: int = subprocess.DEVNULL) -> AbstractContextManager[Process]:
            return jobs.start(program, stdin=stdin)

        asked.append(place)
        return Target("openmpi", start)

    monkeypatch.setattr(session, "find_target", find)
    return asked


def let_answer(program: MeasuringProgram, dies_at: object = None, wrong: object = None) -> Path:
    log = program.folder / "log"
    log.unlink(missing_ok=True)
    code = PROGRAM.format(log=str(log), dies_at=dies_at, wrong=wrong)
    program.let_run(f"exec {sys.executable} -c {shlex.quote(code)}")
    return log


def invoke(*arguments: str, code: int = 0) -> str:
    usual = ("--networks", "1x2", "--mpi", "openmpi", "--collectives", "allreduce", "--sizes", "64KiB")
    shown = CliRunner().invoke(app, [*usual, *arguments], catch_exceptions=False)
    assert shown.exit_code == code, shown.output
    return shown.stdout


def lines_of(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines()


def jobs_of(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["jobs"]
    return found


def test_the_guard_is_on_and_its_duels_are_over(
    program: MeasuringProgram, places: list[Place], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STRETTO_ONLINE", "0")
    monkeypatch.setenv("STRETTO_FABRIC", "elsewhere")
    log = let_answer(program)
    text = invoke("-o", str(tmp_path / "a.json"), "--warmup", "90")
    assert places == [Place([], "openmpi", ranks=2)]
    started, *warm_up, settling, trials, last, again = lines_of(log)[:7]
    # The second job uses the findings of the first.
    assert started == again
    fabric = re.fullmatch(r"started STRETTO_FABRIC=(\S+)/fabric.json STRETTO_TABLE=none", started)
    assert fabric
    assert not Path(fabric[1]).exists()
    assert warm_up == ["allreduce 65536 auto 4 10", "allreduce 65536 auto 5 10"]
    # A second, in rows of calls.
    assert settling == "allreduce 65536 auto 50 0"
    assert lines_of(log)[7:] == warm_up
    assert trials.startswith("allreduce 65536 ring,")
    assert last.startswith("allreduce 65536 native,auto,ring,")
    assert last.count(",") == 4
    assert last.endswith(" 9 0")
    (job,) = jobs_of(tmp_path / "a.json")
    (size,) = job["sizes"]
    assert (size["best_spec"], size["regret"], size["gain"]["median"]) == ("ring", 1.0, 2.0)
    assert "100 %" in text
    assert "allreduce 64 KiB, openmpi; best: ring" in text
    assert len(size["first"]) == len(size["second"]) == 90


def test_the_same_command_goes_on(program: MeasuringProgram, places: list[Place], tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    two = ("--collectives", "allreduce,bcast", "--sizes", "1KiB,64KiB", "-o", str(file))
    let_answer(program, dies_at=("bcast", 65536))
    text = invoke(*two, code=1)
    assert "bcast, openmpi, 1x2: not all was measured: the job has ended" in text
    assert [(job["collective"], len(job["sizes"])) for job in jobs_of(file)] == [
        ("allreduce", 2),
        ("bcast", 1),
    ]
    log = let_answer(program)
    invoke(*two)
    assert {line.split()[0] for line in lines_of(log)} == {"started", "bcast"}
    assert [(job["collective"], len(job["sizes"])) for job in jobs_of(file)] == [
        ("allreduce", 2),
        ("bcast", 2),
    ]
    log.unlink()
    picture = tmp_path / "map.png"
    invoke(*two, "--collectives", "bcast", "--png", str(picture))
    assert not log.exists()  # nothing was missing
    assert picture.exists()
    assert len(jobs_of(file)) == 2
    assert len(places) == 3
    with pytest.raises(StrettoError, match="measured with other sizes; give the same"):
        invoke(*two, "--sizes", "1KiB")
    invoke("-o", str(file), "--fresh")
    assert len(jobs_of(file)) == 1


def test_a_wrong_result_ends_a_job(program: MeasuringProgram, places: list[Place]) -> None:
    let_answer(program, wrong=("auto", 65536))
    with pytest.raises(StrettoError, match="allreduce, openmpi, 1x2: WRONG RESULTS of auto at 64 KiB"):
        invoke()
    assert places


def test_sizes_for_which_there_is_no_time_are_left_out(
    program: MeasuringProgram, places: list[Place], tmp_path: Path
) -> None:
    let_answer(program)
    text = invoke("--sizes", "1KiB,16MiB,1GiB", "--max-seconds", "3", "-o", str(tmp_path / "a.json"))
    assert "allreduce, openmpi, 1x2: --max-seconds is too short for 1 GiB" in text
    assert [one["bytes"] for one in jobs_of(tmp_path / "a.json")[0]["sizes"]] == [1 << 10, 16 << 20]
    assert places


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--networks", "8"], "--networks 8: expected NODESxRATE"),
        (["--mpi", "lam"], "--mpi lam: there is no such MPI"),
        (["--collectives", "alltoallw"], "there is no collective 'alltoallw'"),
        (["--sizes", "many"], "'many' is not a size"),
        (["--table", "/nowhere.json"], "/nowhere.json cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(arguments: list[str], message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        invoke(*arguments)


def test_a_real_job_without_mpi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(measure, "_TRIALS", 1)
    file = tmp_path / "a.json"
    few = ("--sizes", "1KiB,64KiB", "--repetitions", "5", "--warmup", "10", "-o", str(file))
    text = invoke("--mpi", "sockets", *few)
    assert "rule:" in text
    assert "MPI default" not in text
    (job,) = jobs_of(file)
    assert (job["mpi"], job["error"]) == ("sockets", "")
    assert job["library"].startswith("Stretto sockets ")
    for size in job["sizes"]:
        assert {size["rule_spec"], "auto"} < set(size["samples"])
        assert size["native"] is None
        assert "native" not in size["samples"]


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("tc") is None, reason="makes a lab")
def test_a_network_with_and_without_mpi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(measure, "_TRIALS", 1)
    monkeypatch.setattr(session, "LAB_NAME", f"stretto-r{os.getpid()}")
    file = tmp_path / "a.json"
    few = ("--sizes", "1KiB", "--repetitions", "5", "--warmup", "5", "-o", str(file))
    text = invoke("--networks", "2xunlimited", "--mpi", "openmpi,sockets", *few)
    assert "MPI default (sockets: the built-in rule)" in text
    found = jobs_of(file)
    assert [(job["mpi"], job["error"], job["ppn"]) for job in found] == [
        ("openmpi", "", [1, 1]),
        ("sockets", "", [1, 1]),
    ]
    assert "native" in found[0]["sizes"][0]["samples"]
    assert "native" not in found[1]["sizes"][0]["samples"]


def test_a_real_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(measure, "_TRIALS", 1)
    file = tmp_path / "a.json"
    invoke("--sizes", "1KiB,64KiB", "--repetitions", "5", "-o", str(file))
    (job,) = jobs_of(file)
    assert job["error"] == ""
    assert job["library"].startswith("Open MPI v4.")
    assert [size["bytes"] for size in job["sizes"]] == [1 << 10, 64 << 10]
    for size in job["sizes"]:
        assert {"native", "auto"} < set(size["samples"])
        assert 0 < size["best"] <= size["auto"]
