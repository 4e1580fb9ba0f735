# SPDX-License-Identifier: Apache-2.0
"""`stretto calibrate`: the file that it writes, and that it writes nothing after an error."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

from stretto import _core
from stretto.calibrate import session
from stretto.calibrate.fit import fit
from stretto.calibrate.plot import fit_figure
from stretto.calibrate.simulation import Shape, simulate
from stretto.cli.main import app
from stretto.lab.cluster import Lab
from stretto.lab.links import Links
from stretto.launch import jobs
from stretto.model.machine_file import (
    Limit,
    MachineFile,
    Protocol,
    ReductionRate,
    file_text,
    read_machine_file,
)
from stretto.support import paths

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram

MACHINE = MachineFile(
    "small",
    {
        "node": [Protocol(0, 6e-7, 7e9)],
        "network": [Protocol(0, 1e-5, 2e9), Protocol(64 << 10, 6e-5, 2e9, True, 1.0, 0.4)],
    },
    limits={"node": Limit(2.39e7, None, 250_000), "memory": Limit(1e10)},
    reduction=[ReductionRate(0, 3e10), ReductionRate(1 << 20, 1e10)],
    engine_message=2e-6,
    engine_round=1e-7,
)
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("tc") is None, reason="makes a lab")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    file = tmp_path / "small.json"
    file.write_text(file_text(MACHINE))
    return file


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out" / "machine.json"


def run(output: Path, *arguments: str) -> Any:
    output.parent.mkdir(exist_ok=True)
    return CliRunner().invoke(app, ["calibrate", "--output", str(output), *arguments], catch_exceptions=False)


def complaint(output: Path, *arguments: str) -> str:
    """The one line that says what is wrong; nothing was written."""
    result = run(output, *arguments)
    assert result.exit_code == 2, result.output
    assert list(output.parent.iterdir()) == []
    # Open MPI's launcher warns now and then: [node:pid] plm:rsh: Warning: setpgid(...) failed in parent.
    # After ten seconds the command says how long it has taken so far.
    lines = result.stderr.strip().splitlines()
    (line,) = [line for line in lines if not line.startswith("[") and not line.endswith(" so far")]
    return str(line)


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_simulated_machine(machine: Path, output: Path) -> None:
    png = output.with_name("fit.png")
    options = ("--nodes", "8", "--ppn", "4", "--name", "again", "--description", "made up", "--png", str(png))
    result = run(output, "--simulated", str(machine), *options)
    assert result.exit_code == 0, result.output
    assert {file.name for file in output.parent.iterdir()} == {"machine.json", "fit.png"}
    assert png.read_bytes().startswith(b"\x89PNG")

    again = read_machine_file(output.read_text())
    assert (again.name, again.description) == ("again", "made up")
    assert again.levels["network"][0].latency == pytest.approx(1e-5, rel=0.05)
    assert again.limits["node"].bandwidth == pytest.approx(2.39e7, rel=0.02)
    assert again.limits["node"].burst == pytest.approx(250_000, rel=0.1)
    notes = again.notes
    assert notes["fingerprint"] | {"simulated": "small", "nodes": 8, "ppn": [4] * 8} == notes["fingerprint"]
    assert notes["remarks"] == []
    assert set(notes["uncertainty"]) >= {
        "levels/network/0/latency", "levels/network/1/exchange", "limits/node/burst",
        "limits/memory/bandwidth", "reduction/1/bandwidth", "engine/message", "engine/round",
    }  # fmt: skip
    kinds = {point["what"] for point in notes["points"]}
    assert kinds >= {"ping-pong", "eager", "train", "flows", "exchange", "reduction", "engine"}

    text = words(result.stdout)
    assert "again: made up" in text
    assert "node 0 B and more eager" in text
    assert "64 KiB and more rendezvous" in text
    for name in ("limit: node", "limit: memory", "limit: fabric", "reduction", "engine"):
        assert name in text
    assert "a burst of 24" in text
    assert text.endswith(f"written to {output}")


def test_the_same_seed_gives_the_same_file(machine: Path, output: Path) -> None:
    texts = []
    for seed in ("1", "1", "2"):
        assert run(output, "--simulated", str(machine), "--nodes", "2", "--seed", seed).exit_code == 0
        file = json.loads(output.read_text())
        del file["notes"]["date"]
        texts.append(json.dumps(file))
    assert texts[0] == texts[1] != texts[2]


def test_a_machine_that_is_built_in(output: Path) -> None:
    assert run(output, "--simulated", "altec", "--nodes", "4").exit_code == 0
    assert read_machine_file(output.read_text()).name == "altec, simulated"


def test_the_figure() -> None:
    measured = simulate(MACHINE, Shape(nodes=8, ppn=4))
    figure = fit_figure(measured, fit(measured), "a cluster")
    shown = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in shown] == [
        "time of one message",
        "the same as bandwidth",
        "1: both directions at once, 0: in turns; lines are fits",
        "large messages after a pause",
        "several at once; lines are fits",
        "several at once; lines are fits",
        "reduction: FP32 sum",
        "engine: lines are fits, off by 0 %",
    ]
    figure.draw_without_rendering()
    for axes in shown:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        legend = axes.get_legend()
        assert legend is not None
        # The legend is below the axes, so that it covers nothing.
        assert legend.get_window_extent().y1 <= axes.get_window_extent().y0
    times = shown[0]
    lines = {str(line.get_label()): line for line in times.get_lines()}
    assert {"node, measured", "node, fit", "network, measured", "network, fit"} <= set(lines)
    assert "network: rendezvous from 64 KiB" in lines
    assert np.asarray(lines["network, measured"].get_xdata()).min() == 1


def test_a_figure_of_one_pair_of_ranks() -> None:
    measured = simulate(MACHINE, Shape(nodes=1, ppn=2))
    figure = fit_figure(measured, fit(measured), "a node")
    figure.draw_without_rendering()
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert titles[:2] == ["time of one message", "the same as bandwidth"]
    assert "large messages after a pause" not in titles


# Errors are reported in one line, and nothing is written.


START = {
    "event": "start", "library": "MPICH Version: 4.0.2", "stretto": "1", "ranks": 2, "nodes": 1, "ppn": [2],
}  # fmt: skip
POINT = {
    "event": "points", "what": "ping-pong", "level": "node", "bytes": 8, "count": 1, "pass": 0,
    "seconds": [1],
}  # fmt: skip
END = {"event": "end"}
OWN = ("--mpi", "mpich", "--", "env")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "soon"], "'soon' is not a time"),
        (["--budget", "1s"], "--budget 1s is too short to measure anything; give 5s or more"),
        (["--budget", "0.05m"], "--budget 0.05m is too short"),
        (["--budget", "m"], "'m' is not a time"),
        (["--lab", "--", "env"], "give --lab or -- LAUNCHER"),
        (["--lab", "--simulated", "altec"], "--simulated measures nothing"),
        (["--png", "/nowhere/a.png"], "there is no folder /nowhere"),
        (["--simulated", "/nowhere.json"], "--simulated /nowhere.json: No such file"),
        (["--simulated", "altec", "--name", "a\nb"], "--name 'a\\nb': expected one line"),
        (["--mpi", "lam"], "--mpi lam: there is no such MPI"),
        (["--", "env"], "env: its MPI library is not known"),
        (["--mpi", "mpich", "--", "/nowhere/srun"], "/nowhere/srun could not be started"),
    ],
)
def test_wrong_options(program: MeasuringProgram, output: Path, arguments: list[str], message: str) -> None:
    program.let_print(START, END)
    assert message in complaint(output, *arguments)


def test_a_machine_file_that_cannot_be_read(machine: Path, output: Path) -> None:
    machine.write_text(file_text(MACHINE).replace('"bandwidth": 7e9', '"bandwidth": -7e9'))
    assert "levels.node[0].bandwidth: expected a number" in complaint(output, "--simulated", str(machine))


def test_no_folder_for_the_machine(machine: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["calibrate", "--simulated", str(machine), "--output", str(tmp_path / "no" / "a.json")]
    )
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr


def test_a_file_that_was_there_stays_if_the_calibration_fails(
    program: MeasuringProgram, output: Path
) -> None:
    output.parent.mkdir()
    output.write_text("what was there")
    program.let_print(START, POINT, then="exit 1")
    result = run(output, *OWN)
    assert result.exit_code == 2
    assert "program ended early" in result.stderr
    assert output.read_text() == "what was there"
    assert list(output.parent.iterdir()) == [output]


def test_what_the_program_says_is_passed_on(program: MeasuringProgram, output: Path) -> None:
    program.let_print(
        START, {"event": "error", "message": "--budget is too short to measure it"}, then="exit 2"
    )
    assert "--budget is too short to measure it" in complaint(output, *OWN)


def test_a_launcher_that_fails_after_all(program: MeasuringProgram, output: Path) -> None:
    program.let_print(START, POINT, END, then="exit 3")
    assert "ended with status 3 after all was measured; nothing was written" in complaint(output, *OWN)


def test_a_run_that_hangs_is_ended(
    program: MeasuringProgram, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_MOST_TIMES", 0.0)
    monkeypatch.setattr(session, "_MOST_MORE_SECONDS", 0.3)
    program.let_print(START, POINT, then="exec sleep 1000")
    line = complaint(output, "--budget", "5s", *OWN)
    assert "a rank may be lost, or hang" in line


def test_a_launcher_that_does_not_end_when_asked_is_killed(
    program: MeasuringProgram, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_MOST_TIMES", 0.0)
    monkeypatch.setattr(session, "_MOST_MORE_SECONDS", 0.3)
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 0.3)
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"
    program.let_print(START, then=f'exec {sys.executable} -c "{stubborn}"')
    assert "a rank may be lost, or hang" in complaint(output, "--budget", "5s", *OWN)


# Real calibrations.


def levels_of(output: Path) -> dict[str, list[Protocol]]:
    _core.Machine(output.read_text())
    return read_machine_file(output.read_text()).levels


@pytest.mark.measures
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_two_ranks_of_this_node(name: str, output: Path) -> None:
    png = output.with_name("fit.png")
    result = run(output, "--mpi", name, "--np", "2", "--budget", "5s", "--png", str(png))
    assert result.exit_code == 0, result.output
    levels = levels_of(output)
    assert levels.keys() == {"node"}
    rows = levels["node"]
    assert 1e-8 < rows[0].latency < 1e-2
    # Both libraries send short messages eagerly, and long ones not.
    assert not rows[0].synchronous
    assert rows[-1].synchronous
    (border,) = [
        row.begin for row, before in zip(rows[1:], rows, strict=False) if row.synchronous > before.synchronous
    ]
    assert 256 < border < 1 << 20
    file = json.loads(output.read_text())
    assert file["notes"]["fingerprint"]["ppn"] == [2]
    assert {point["what"] for point in file["notes"]["points"]} == {
        "eager", "ping-pong", "one-way", "exchange", "flows", "reduction", "engine", "messages", "round-trip",
        "shared",
    }  # fmt: skip
    assert file["reduction"][0]["bandwidth"] > 1e7
    assert png.stat().st_size > 10_000


@pytest.mark.measures
def test_slurms_launcher_with_the_name_of_the_library(
    output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for srun that accepts its usual options."""
    srun = tmp_path / "srun"
    srun.write_text(
        '#!/bin/sh\n[ "$1" = -n ] || exit 9\nshift\nranks=$1\nshift\n'
        'exec mpirun.openmpi --allow-run-as-root --oversubscribe -np "$ranks" "$@"\n'
    )
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    result = run(output, "--budget", "5s", "--mpi", "openmpi", "--", "srun", "-n", "3")
    assert result.exit_code == 0, result.output
    notes = json.loads(output.read_text())["notes"]
    assert notes["fingerprint"]["launcher"] == "srun -n 3"
    assert notes["fingerprint"]["ppn"] == [3]
    assert "shift" in {point["what"] for point in notes["points"]}


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_rank_that_dies(
    name: str,
    output: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    real = paths.bench_program()
    mortal = tmp_path / "mortal"
    mortal.write_text(
        "#!/bin/sh\n"
        'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then (sleep 1.5; kill -9 $$) & fi\n'
        f'exec {real} "$@"\n'
    )
    mortal.chmod(0o755)
    monkeypatch.setattr(paths, "bench_program", lambda: mortal)
    assert "program ended early" in complaint(output, "--mpi", name, "--np", "2", "--budget", "30s")
    capfd.readouterr()


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_one_rank_has_nobody_to_send_to(name: str, output: Path) -> None:
    launcher = [f"mpirun.{name}", *(["--allow-run-as-root"] if name == "openmpi" else []), "-np", "1"]
    line = complaint(output, "--mpi", name, "--budget", "5s", "--", *launcher)
    assert "expected 2 ranks or more" in line


@pytest.mark.measures
@ROOT_ONLY
def test_on_the_lab(output: Path) -> None:
    name = f"stretto-test{os.getpid()}-calibrate"
    with Lab.temporary(Links.even(3, "1gbit"), name=name):
        result = run(output, "--lab", "--lab-name", name, "--budget", "10s")
    assert result.exit_code == 0, result.output
    machine = read_machine_file(output.read_text())
    assert machine.levels.keys() == {"network"}
    assert any(row.synchronous for row in machine.levels["network"])
    link = machine.limits["node"]
    assert link.bandwidth is not None
    assert 0.3 * 125e6 < link.bandwidth < 1.3 * 125e6
    points = {point["what"] for point in machine.notes["points"]}
    assert {"train", "shift", "exchange", "flows"} <= points


@pytest.mark.measures
@ROOT_ONLY
def test_a_budget_too_short_for_a_slow_link(output: Path) -> None:
    name = f"stretto-test{os.getpid()}-slow"
    with Lab.temporary(Links.even(2, "2mbit"), name=name):
        line = complaint(output, "--lab", "--lab-name", name, "--budget", "8s")
    assert "--budget is too short to measure trains of messages over the network: they need" in line
