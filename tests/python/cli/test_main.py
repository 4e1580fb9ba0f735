# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from stretto.cli.listing import Line
from stretto.cli.main import app
from stretto.support import paths
from stretto.support.errors import StrettoError, WrongResultError

COMMANDS = ["run", "lib", "config", "doctor", "lab", "bench", "algorithms", "verify", "show"]


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "libstretto.so").touch()
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))
    return tmp_path


def test_help_names_every_command() -> None:
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert [name for name in COMMANDS if name not in shown.output] == []


@pytest.mark.parametrize("name", [*COMMANDS, "lab up", "lab run", "lab down", "lab status"])
def test_every_command_has_help(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split(), "--help"])
    assert shown.exit_code == 0
    assert f"stretto {name}" in shown.output or f"root {name}" in shown.output


@pytest.mark.parametrize("name", ["", *COMMANDS, "lab run", "profile", "explain"])
def test_the_short_form_of_help(name: str) -> None:
    short, long = (CliRunner().invoke(app, [*name.split(), option]) for option in ("-h", "--help"))
    assert (short.exit_code, short.output) == (0, long.output)
    assert "Usage" in short.output


@pytest.mark.parametrize("name", ["", "lab", "fabric"])
def test_flags_have_no_type(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split(), "--help"])
    assert "--help" in shown.output
    assert "<bool>" not in shown.output


@pytest.mark.parametrize("name", ["", "run"])
def test_the_help_names_pytorch(name: str) -> None:
    assert "PyTorch" in CliRunner().invoke(app, [*name.split(), "--help"]).output


@pytest.mark.parametrize("stub", ["sitecustomize.py", "typer.py"])
def test_an_interrupt_while_the_command_is_loaded(stub: str, tmp_path: Path) -> None:
    """While Python starts, and while our modules are imported."""
    here, go = tmp_path / "here", tmp_path / "go"
    (tmp_path / stub).write_text(
        "import pathlib, time\n"
        f"pathlib.Path({str(here)!r}).touch()\n"
        f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.01)\n"
    )
    command = [str(paths.find_command()), "algorithms"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not here.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        go.touch()
        output, errors = process.communicate()
    assert (process.returncode, output, errors) == (130, "", "stretto: ended by SIGINT\n")


def test_a_home_that_cannot_be_written_to(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stretto", "show", "ring", "--ranks", "3", "-o", "ring.svg"]
    environment = {**os.environ, "HOME": "/proc", "MPLCONFIGDIR": ""}
    drawn = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (drawn.returncode, drawn.stderr) == (0, "")


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    group: Any = get_command(app)
    for name, listed in group.commands.items():
        own = " ".join(group.load(name).help.split())
        assert own.startswith(listed.help.removesuffix(".")), name


def add_entry(monkeypatch: pytest.MonkeyPatch, load: Callable[[], object]) -> None:
    """Lets another distribution add commands."""
    entry = SimpleNamespace(name="others", load=load)
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [entry])


def test_another_distribution_adds_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {"again": Line("Else", "Says it again."), "lib": Line("Else", "Not ours.")}
    add_entry(monkeypatch, lambda: lines)
    module = SimpleNamespace(again=lambda: print("again"))
    monkeypatch.setitem(sys.modules, "stretto.cli.again", module)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert re.search("again +Says it again", shown.output)
    # Nobody takes the place of a command of Stretto's.
    assert "Not ours" not in shown.output
    assert CliRunner().invoke(app, ["again"]).output == "again\n"


def test_a_distribution_that_is_broken_breaks_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> object:
        raise ImportError("No module named 'nothing'")

    add_entry(monkeypatch, fail)
    line = "stretto: the commands of others cannot be loaded: No module named 'nothing'\n"
    shown = CliRunner().invoke(app, ["--help"])
    assert (shown.exit_code, shown.stderr) == (0, line)
    assert "verify" in shown.stdout
    assert CliRunner().invoke(app, ["lib", "--help"]).stderr == ""
    unknown = CliRunner().invoke(app, ["again"])
    assert (unknown.exit_code, unknown.stderr.splitlines()[0] + "\n") == (2, line)
    assert "No such command 'again'" in unknown.stderr


def test_the_version() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert (shown.exit_code, shown.output) == (0, f"stretto {metadata.version('stretto')}\n")


def test_the_help_tells_of_exit_statuses() -> None:
    assert "Exit status: 0 success" in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (StrettoError("no"), 2, "stretto: no\n"),
        (WrongResultError("no"), 1, "stretto: no\n"),
        (KeyboardInterrupt(), 130, "stretto: ended by SIGINT\n"),
    ],
)
def test_exit_statuses(error: BaseException, status: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise error

    monkeypatch.setattr(paths, "library", fail)
    ended = CliRunner().invoke(app, ["lib"])
    assert (ended.exit_code, ended.stderr) == (status, said)


@pytest.mark.parametrize("name", ["lab up", "lab run", "lab down", "bench", "tune", "calibrate"])
def test_the_help_says_what_labs_can_be_called(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "200"})
    assert "stretto-WORD" in shown.output


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {"specs": (), "stats": None, "strict": False, "summary": None, "mpi_name": None, "dry": False}),
        (["--spec", "ring", "--spec=bcast/chain"], {"specs": ["ring", "bcast/chain"]}),
        (["--stats", "a=b.json", "--strict"], {"stats": Path("a=b.json"), "strict": True}),
        (["--summary", "--no-summary", "--mpi", "mpich"], {"summary": False, "mpi_name": "mpich"}),
        (["--dry-run"], {"dry": True}),
    ],
)
def test_the_options_of_run(
    words: list[str], given: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr("stretto.cli.run.become_launcher", lambda line, **more: seen.update(more, line=line))
    ended = CliRunner().invoke(app, ["run", *words, "--", "mpirun", "--spec"], catch_exceptions=False)
    assert (ended.exit_code, ended.output) == (0, "")
    assert seen.items() >= given.items()
    assert seen["line"] == ["mpirun", "--spec"]


def test_lib_prints_the_path(libraries: Path) -> None:
    shown = CliRunner().invoke(app, ["lib"])
    assert (shown.exit_code, shown.output) == (0, f"{libraries}/libstretto.so\n")


def test_config_puts_what_belongs_together_on_one_line(libraries: Path) -> None:
    shown = CliRunner().invoke(app, ["config", "--libs", "--cflags"])
    assert shown.exit_code == 0
    assert shown.output.count("\n") == 1
    header, folder, library, where = shown.output.split()
    assert (Path(header.removeprefix("-I")) / "stretto" / "stretto.h").is_file()
    assert folder == f"-L{libraries}"
    assert "-lstretto" in library.split(",")
    assert where == f"-Wl,-rpath,{libraries}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lib", "openmpi"], "openmpi"),
        (["config"], "say what to print: --cmake-dir, --pkgconfig-dir, --cflags or --libs"),
        (["config", "--libs", "--mpi", "mpich"], "--mpi"),
        (["nonsense"], "nonsense"),
        (["--nonsense"], "--nonsense"),
        (["run", "mpirun", "-np", "2", "a"], "there is no --"),
        (["run", "--nonsense", "--", "mpirun"], "--nonsense"),
        (["run", "--stats", "--", "mpirun"], "--stats"),
        (["run", "--strict=no", "--", "mpirun"], "--strict"),
        (["run", "word", "--", "mpirun"], "word"),
        (["lab", "run", "--", "true"], "'--mpi': The MPI: openmpi, openmpi5, mpich, mpich5, intelmpi. (see "),
        (["lab", "run"], "there is no -- before the program; use: "),
        (["lab", "run"], "lab run --mpi NAME -- PROGRAM"),
        (["bench"], "'collective': The collective: allreduce, "),
        (["export", "table.json"], "'--to': The MPI library of the table: openmpi, mpich or intelmpi. (see "),
        (
            ["fabric", "show", "nosuch"],
            "nosuch: there is no such file; stretto fabric list names those of jobs",
        ),
        (["lab", "run", "--mpi", "openmpi", "--env", "A", "--", "true"], "--env A: expected NAME=VALUE"),
        (["lab", "run", "--mpi", "openmpi", "true"], "there is no --"),
        (["lab", "up", "--nodes", "many"], "--nodes"),
        (["lab", "up", "--name", "mine"], "'mine'"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str) -> None:
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 2
    assert shown.stderr.startswith("stretto: ")
    assert shown.stderr.count("\n") == 1
    assert message in shown.stderr
    assert shown.stdout == ""


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))
    with pytest.raises(StrettoError, match=f"{tmp_path}/stretto-bench does not exist"):
        paths.bench_program()


def test_module_and_program_are_the_same() -> None:
    done = subprocess.run([sys.executable, "-m", "stretto", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "Usage: stretto" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("['show', 'ring', '--ranks', '5']", "stretto: show: the compiled module cannot be loaded"),
        ("['config']", "stretto: config: say what to print"),
    ],
)
def test_without_the_compiled_module_its_commands_say_so(arguments: str, line: str) -> None:
    script = (
        "import sys; sys.modules['stretto._core'] = None\n"
        f"from stretto.cli.main import app\napp({arguments}, prog_name='stretto')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(line)
    assert len(done.stderr.splitlines()) == 1
