# SPDX-License-Identifier: Apache-2.0
"""Measures jobs without MPI: ranks on this machine that meet by a store, and talk over sockets."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto import _core
from stretto.bench.request import Request
from stretto.bench.table import notes
from stretto.bench.targets import Place, find_target, measure
from stretto.cli.main import app
from stretto.sockets.store import serve
from stretto.support.errors import StrettoError


def ignore(_done: float, _total: float) -> None:
    """Stand for a progress bar."""


@pytest.mark.parametrize("collective", ["allreduce", "bcast", "reduce_scatter", "alltoall", "barrier"])
def test_measures_stretto_and_the_short_list(collective: str, capfd: pytest.CaptureFixture[str]) -> None:
    request = Request(collective, "", [1024], repetitions=2)
    target = find_target(Place([], "sockets", 3), may_lack_mpi=True)
    run = measure(target, request.arguments(has_library=False), ignore)
    assert run.library.startswith("Stretto sockets ")
    assert run.ranks == 3
    assert {"auto"} < {series.spec for series in run.series}
    assert all(series.correct and series.form == "non-blocking" for series in run.series)
    assert capfd.readouterr().err == ""
    assert not any("native" in line for line in notes(run, None, emulated=False))


@pytest.mark.parametrize(
    ("specs", "forms", "error"),
    [
        ("native,auto", "", "--specs native: a job without MPI"),
        ("native(ring)", "", "--specs native(ring): a job without MPI"),
        ("auto", "blocking", "--forms blocking: jobs without MPI"),
    ],
)
def test_refuses_what_needs_a_library(specs: str, forms: str, error: str) -> None:
    with pytest.raises(StrettoError) as raised:
        Request("allreduce", specs, [8], forms).arguments(has_library=False)
    assert str(raised.value).startswith(error)


def test_other_commands_refuse_jobs_without_mpi() -> None:
    with pytest.raises(StrettoError, match="stretto bench, tune and regret only"):
        find_target(Place([], "sockets", 2))


def test_one_rank_is_refused() -> None:
    target = find_target(Place([], "sockets", 1), may_lack_mpi=True)
    with pytest.raises(StrettoError, match="ended before its last result"):
        measure(target, Request("allreduce", "auto", [8]).arguments(has_library=False), ignore)


def test_tunes_the_rows_that_such_jobs_read(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    words = ["tune", "--mpi", "sockets", "--np", "2", "--sizes", "1KiB,64KiB", "--output", str(table)]
    # Beside other programs that compute, a short time decides nothing.
    for budget in ("4s", "20s", "100s"):
        result = CliRunner().invoke(app, [*words, "--budget", budget])
        if result.exit_code == 0:
            break
        assert "the budget is too short to decide anything" in result.stderr
    assert result.exit_code == 0, result.output
    written = json.loads(table.read_text(encoding="utf-8"))
    assert written["mpi"].startswith("Stretto sockets ")
    (shape,) = written["shapes"]
    assert shape["iallreduce"]
    assert "allreduce" not in shape
    assert all(row["spec"] != "native" for row in shape["iallreduce"])
    assert _core.read_table(table.read_text(encoding="utf-8")).fit("Stretto sockets 0.1.0")[0]


def test_a_store_answers_until_it_fails() -> None:
    ours, its = socket.socketpair()
    values: dict[str, bytes] = {}

    def get(key: str) -> bytes:
        if key not in values:
            raise RuntimeError("it did not come")
        return values[key]

    server = threading.Thread(target=serve, args=(ours, values.__setitem__, get))
    server.start()
    with its, its.makefile("rw", encoding="ascii") as lines:
        for question, answer in (("set a 00ff", "ok"), ("get a", "00ff"), ("get b", "")):
            lines.write(f"{question}\n")
            lines.flush()
            assert lines.readline().rstrip() == answer
    server.join()
    assert values == {"a": b"\x00\xff"}
