# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from stretto.cli.main import app
from stretto.support.errors import StrettoError
from stretto.trace.analysis import Call
from stretto.trace.files import RankTrace, TraceFolder
from stretto.trace.horovod_timeline import read_timeline, steps_of
from stretto.trace.profile_file import Profile, load_profile
from stretto.trace.profile_summary import make_profile
from stretto.trace.profile_table import print_profile

if TYPE_CHECKING:
    from tests.python.conftest import Runner

# Horovod 0.28.1 with TensorFlow 2.12, two workers, five steps of a small network, cycles of 5 ms.
RECORDED = Path(__file__).parent / "data" / "horovod-timeline.json"
BYTES = {8: 2560, 6: 589_824, 9: 40, 7: 256, 5: 64, 4: 4608, 3: 32, 2: 32, 1: 32, 0: 864}


def test_a_recorded_timeline_gives_all_gradients() -> None:
    steps = steps_of(read_timeline(RECORDED))
    assert steps is not None
    assert steps.count == 4
    assert sorted(one.bytes for one in steps.gradients) == sorted(BYTES.values())
    assert all(one.name.endswith("_0") for one in steps.gradients)
    times = [one.ready for one in steps.gradients]
    assert times == sorted(times)
    assert 0 < times[-1] < steps.seconds < 0.1
    # Cycles are 5 ms apart or more.
    assert 2.5e-3 <= steps.uncertainty < 5e-3
    assert sum(size * often for size, often in steps.messages.items()) == pytest.approx(sum(BYTES.values()))
    assert max(steps.messages) == sum(BYTES.values())


def test_a_job_that_was_killed_does_not_close_the_list(tmp_path: Path) -> None:
    text = RECORDED.read_text()
    cut = tmp_path / "cut.json"
    cut.write_text(text[: len(text) * 9 // 10])
    whole, part = (steps_of(read_timeline(file)) for file in (RECORDED, cut))
    assert whole is not None
    assert part is not None
    assert part.count == whole.count - 1
    assert {one.name for one in part.gradients} == {one.name for one in whole.gradients}


def timeline(tmp_path: Path, *events: dict[str, object]) -> Path:
    names = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for pid, name in ((1, "a"), (2, "b"), (3, "metric"))
    ]
    file = tmp_path / "timeline.json"
    file.write_text(json.dumps([*names, *events]))
    return file


def reduced(pids: tuple[int, ...], agreed: int, end: int, shape: str = "[250]") -> list[dict[str, object]]:
    """The events of an allreduce of merged tensors; times in microseconds."""
    rows: list[dict[str, object]] = []
    for name, begin, until in (("NEGOTIATE_ALLREDUCE", agreed, agreed), ("ALLREDUCE", agreed, end)):
        inner = name == "ALLREDUCE"
        rows += [{"ph": "B", "name": name, "pid": pid, "ts": begin} for pid in pids]
        if inner:
            rows += [{"ph": "B", "name": "MPI_ALLREDUCE", "pid": pid, "ts": begin} for pid in pids]
            rows += [{"ph": "E", "pid": pid, "ts": until} for pid in pids]
        about = {"args": {"dtype": "float32", "shape": shape}} if inner else {}
        rows += [{"ph": "E", "pid": pid, "ts": until, **about} for pid in pids]
    return rows


def look(at: int) -> dict[str, object]:
    return {"ph": "i", "name": "CYCLE_START", "ts": at}


def test_a_step_begins_when_all_gradients_are_summed(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = []
    for step in range(4):
        begin = 10_000 * step
        # a is found at 2 ms, b at 4 ms; summed until 3 and 6 ms.
        rows += [look(begin), look(begin + 2000), *reduced((1,), begin + 2010, begin + 3000)]
        rows += [look(begin + 4000), *reduced((2,), begin + 4010, begin + 6000, "[]"), look(begin + 6000)]
    found = steps_of(read_timeline(timeline(tmp_path, *rows, *reduced((3,), 50_000, 51_000))))
    assert found is not None
    assert found.count == 3
    assert found.seconds == pytest.approx(10e-3)
    # The step before ended at -4 ms; a ready time is halfway between two cycles.
    assert [(one.name, one.bytes) for one in found.gradients] == [("a", 1000), ("b", 4)]
    assert [one.ready for one in found.gradients] == pytest.approx([5e-3, 7e-3])
    assert found.uncertainty == pytest.approx(1e-3)
    assert found.messages == {4: 1.0, 1000: 1.0}


def test_merged_gradients_are_one_message(tmp_path: Path) -> None:
    rows = [row for step in range(3) for row in reduced((1, 2), 1000 * step, 1000 * step + 500)]
    found = steps_of(read_timeline(timeline(tmp_path, *rows)))
    assert found is not None
    assert found.messages == {2000: 1.0}
    assert found.uncertainty == 0  # without marks of cycles


def test_two_steps_are_too_few(tmp_path: Path) -> None:
    rows = [row for step in range(2) for row in reduced((1, 2), 1000 * step, 1000 * step + 500)]
    assert steps_of(read_timeline(timeline(tmp_path, *rows))) is None
    assert steps_of(read_timeline(timeline(tmp_path))) is None


@pytest.mark.parametrize("text", ["", "{}", "hello", "[1, 2]", '{"a": '])
def test_other_files_are_no_timelines(tmp_path: Path, text: str) -> None:
    file = tmp_path / "timeline.json"
    file.write_text(text)
    with pytest.raises(StrettoError, match="is not a timeline by Horovod"):
        read_timeline(file)


def call(rank: int, sequence: int, begin: float, end: float, size: int, name: str = "allreduce") -> Call:
    return Call(rank, 0, 0.0, begin, end, name, "ring", "blocking", size, "2@0.0", 2, sequence)


def folder(*calls: Call) -> TraceFolder:
    traces = [
        RankTrace(Path(), rank, 2, rank, 0, 0.0, {}, [one for one in calls if one.rank == rank], [], [])
        for rank in (0, 1)
    ]
    return TraceFolder(Path(), 2, traces, [], [])


def test_a_profile_by_hand() -> None:
    profile = make_profile(
        folder(
            # Rank 1 is 20 us late, then both arrive at once, then another size.
            call(0, 0, 0, 100, 4096), call(1, 0, 20, 100, 4096),
            call(0, 1, 150, 200, 4096), call(1, 1, 150, 190, 4096),
            call(0, 2, 300, 400, 5000), call(1, 2, 300, 400, 5000),
        ),
        None,
    )  # fmt: skip
    small, large = profile.collectives
    assert (small.bytes, small.calls, small.total_bytes) == (4096, 2, 8192)
    assert small.seconds.median == pytest.approx(75e-6)
    assert small.seconds.p95 == pytest.approx(100e-6)
    assert small.arrival.median == pytest.approx(10e-6)
    assert small.inside == pytest.approx((90 + 45) * 1e-6)
    assert small.gap.median == pytest.approx(50e-6)
    assert large.gap.median == pytest.approx(105e-6)
    assert [(one.begin, one.calls, one.total_bytes) for one in profile.histogram] == [(4096, 3, 13_192)]
    assert profile.inside == pytest.approx(statistics.fmean([250, 220]) * 1e-6)
    assert profile.seconds == pytest.approx(statistics.fmean([400, 380]) * 1e-6)
    assert profile.waiting == pytest.approx(10e-6)
    assert profile.nodes == 2
    assert profile.training is None


def test_what_clocks_of_hosts_cannot_tell_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    found = folder(call(0, 0, 0, 32, 4096), call(1, 0, 44_000, 44_030, 4096))
    there = found.traces[1]
    late = replace(there.calls[0], clock=1, clock_error=72_000.0)
    found.traces[1] = replace(there, clock=1, clock_error=72_000.0, calls=[late])
    profile = make_profile(found, None)
    (row,) = profile.collectives
    assert row.seconds.median == pytest.approx(32e-6)
    assert row.arrival.median == 0
    assert (profile.waiting, profile.within_clock_errors) == (0, 1)
    print_profile(profile)
    printed = capsys.readouterr().out
    assert "hosts' clocks agree to within 72.0 ms; a rank counts as late only beyond that" in printed
    assert "in 1 collective the ranks of all hosts arrived closer together than clocks can tell" in printed


def run_profile(
    mpi: Runner, tmp_path: Path, *options: str, program: str = "", around: tuple[str, ...] = ()
) -> Result:
    """Profiles a job whose launcher is started by the command `around`."""
    launcher = [*around, f"mpirun.{mpi.abi}"]
    if mpi.abi == "openmpi":
        launcher += ["--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader"]
    line = [*launcher, "-np", "2", str(mpi.compiled("profiled.c")), *program.split()]
    output = ["-o", str(tmp_path / "profile.json")]
    return CliRunner().invoke(app, ["profile", *output, *options, "--", *line])


def check_calls(profile: Profile) -> None:
    assert profile.ranks == 2
    counted: Counter[tuple[str, int]] = Counter()
    for one in profile.collectives:  # those by another spec have a line of their own
        counted[one.collective, one.bytes] += one.calls
    assert counted == {("allreduce", 4096): 5, ("allreduce", 12_000): 2, ("bcast", 100): 1}
    assert 0 < profile.inside <= profile.seconds
    assert sum(one.inside for one in profile.histogram) == pytest.approx(
        sum(one.inside for one in profile.collectives)
    )


def test_a_program_is_profiled(mpi: Runner, tmp_path: Path) -> None:
    png, page = tmp_path / "profile.png", tmp_path / "page.html"
    result = run_profile(mpi, tmp_path, "--png", str(png), "--html", str(page))
    assert result.exit_code == 0, result.output
    check_calls(load_profile(tmp_path / "profile.json"))
    assert "4 KiB..8 KiB" in result.stdout
    assert "2 ranks on one node" in result.stdout
    assert png.read_bytes().startswith(b"\x89PNG")
    text = page.read_text(encoding="utf-8")
    assert all(part in text for part in ('id="profile-table-1"', 'id="trace-table-1"', "allreduce")), text[
        :1000
    ]
    assert f"written to {page}" in result.stdout


def test_a_failing_program_is_profiled_as_well(mpi: Runner, tmp_path: Path) -> None:
    result = run_profile(mpi, tmp_path, "--json", program="fail")
    assert result.exit_code == 3
    check_calls(Profile.model_validate(json.loads(result.stdout)))
    # Hydra reports one of 1, 4 and 9 then, so the shell says which status the launcher's is.
    shell = ("sh", "-c", '"$@"; exit 4', "sh")
    early = run_profile(mpi, tmp_path, program="early", around=shell)
    assert early.exit_code == 4
    assert "no rank reached MPI_Finalize" in early.stderr


def test_the_document_stands_alone(mpi: Runner) -> None:
    """What the program prints goes to standard error."""
    options = {"openmpi": ["--allow-run-as-root", "--oversubscribe"], "mpich": []}[mpi.abi]
    program = ["sh", "-c", 'echo hello; exec "$0"', str(mpi.compiled("profiled.c"))]
    line = [f"mpirun.{mpi.abi}", *options, "-np", "2", *program]
    command = [sys.executable, "-m", "stretto", "profile", "--json", "--", *line]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["format"] == "stretto-profile"
    assert ran.stderr.count("hello") == 2


def test_a_program_without_mpi(mpi: Runner, tmp_path: Path) -> None:
    launcher = [f"mpirun.{mpi.abi}", *(["--allow-run-as-root"] if mpi.abi == "openmpi" else [])]
    result = CliRunner().invoke(app, ["profile", "--", *launcher, "-np", "1", "true"])
    assert result.exit_code == 2
    assert "no rank left a trace" in result.stderr
    missing = tmp_path / "none" / "profile.json"
    result = CliRunner().invoke(app, ["profile", "-o", str(missing), "--", *launcher, "-np", "1", "true"])
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr
