# SPDX-License-Identifier: Apache-2.0
"""`stretto exec` after a launcher: it becomes the program, with Stretto preloaded wherever possible."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stretto.launch.mpi import Flavor, find_install, installs
from stretto.support.paths import find_command, library

if TYPE_CHECKING:
    from tests.python.conftest import Runner

STRETTO = str(find_command())
SERVED = "by Stretto and 0 by"
OWN_PRELOADS = os.environ.get("LD_PRELOAD", "")


def run(
    words: Sequence[str | Path], cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
    return subprocess.run(
        list(map(str, words)),
        env=environment | {"STRETTO_FABRIC": "none"} | variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=100,
    )


def preloads_of(*words: str | Path, **variables: str) -> list[str]:
    """What a program finds in LD_PRELOAD."""
    ran = run([STRETTO, "exec", *words, "sh", "-c", "echo $LD_PRELOAD"], None, **variables)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout.strip().split(":")


def launched(abi: str, *words: str | Path) -> list[str]:
    launcher = [f"mpirun.{abi}", "-n", "2"]
    options = ["--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader"]
    return [*launcher, *(options if abi == "openmpi" else []), *map(str, words)]


def compiled(out: Path, source: str, *flags: str, compiler: str = "cc") -> Path:
    file = out.with_suffix(".c")
    file.write_text(source)
    subprocess.run([compiler, str(file), "-o", str(out), *flags], check=True, capture_output=True)
    return out


FORCED = [
    *("--spec", "ring", "--spec=bcast/chain", "--spec", "reduce/chain", "--spec", "allgather/ring"),
    *("--summary", "--set", "STRETTO_PROGRESS_THREAD=1"),
]


@pytest.mark.parametrize(
    "before",
    [
        [],
        ["bash", "-c", 'exec "$@"', "bash"],
        ["env", "-u", "STRETTO_FABRIC", "nice"],
        [STRETTO, "exec", "sh", "-c", '"$@"; exit $?', "sh"],
    ],
    ids=["itself", "shell", "wrappers", "nested"],
)
def test_ranks_are_served(mpi: Runner, before: list[str]) -> None:
    ran = run(launched(mpi.abi, STRETTO, "exec", *FORCED, "--", *before, mpi.compiled("pairing.cpp")))
    assert ran.returncode == 0, ran.stderr
    assert "right" in ran.stdout
    assert SERVED in ran.stderr
    assert len([line for line in ran.stderr.splitlines() if line.startswith("stretto: ")]) == 1


def test_launchers_that_clean_the_environment(mpi: Runner) -> None:
    """`srun --export=NONE` does so. No variable of the outer environment is needed."""
    kept = "^(OMPI|PMI|PMIX|PATH|HOME)"
    cleaned = f"exec env -i $(env | grep -E {shlex.quote(kept)} | grep -v ' ') \"$@\""
    ran = run(
        launched(
            mpi.abi, "bash", "-c", cleaned, "bash", STRETTO, "exec", *FORCED, mpi.compiled("pairing.cpp")
        )
    )
    assert ran.returncode == 0, ran.stderr
    assert "right" in ran.stdout
    assert SERVED in ran.stderr


def test_an_interpreter_that_opens_its_mpi_late() -> None:
    calls = "w.bcast(b'x' * 100000); sizes = w.allgather(w.size)"
    # Only one rank writes, since the lines of two may be mixed.
    script = f"from mpi4py import MPI; w = MPI.COMM_WORLD; {calls}; w.rank or print(sizes)"
    words = [STRETTO, "exec", "--summary", "--spec", "bcast/chain", sys.executable, "-c", script]
    ran = run(launched("openmpi", *words))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["[2, 2]"]
    assert "bcast by chain" in ran.stderr


def test_what_is_preloaded_already_stays_in_front() -> None:
    existing = f"./libmine.so /x/libmpi.so.40 {library()}:/libmpiP.so:/x/libstretto.so"
    assert preloads_of(LD_PRELOAD="") == [str(library())]
    ran = run([STRETTO, "exec", "env"], LD_PRELOAD=existing)
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("LD_PRELOAD="))
    # Otherwise the functions of an MPI library, or of another Stretto, would be found first.
    assert line == f"LD_PRELOAD=./libmine.so:/libmpiP.so:{library()}:/x/libmpi.so.40:/x/libstretto.so"


def test_what_audits_already_stays_in_front() -> None:
    auditor = library().with_name("libstretto-audit.so")
    for existing in ("", "/a.so", f"/a.so:{auditor}"):
        ran = run([STRETTO, "exec", "sh", "-c", "echo $LD_AUDIT"], LD_AUDIT=existing)
        assert ran.stdout == (f"/a.so:{auditor}\n" if existing else f"{auditor}\n")


@pytest.mark.parametrize("by", ["run", "exec"])
def test_a_tool_sees_each_call_once(mpi: Runner, by: str) -> None:
    tool = str(mpi.compiled("counting_tool.c", "-shared", "-fPIC"))
    program = mpi.compiled("profiled.c")
    if by == "run":
        line = [STRETTO, "run", "--spec", "ring", "--", *launched(mpi.abi, program)]
        ran = run(line, LD_PRELOAD=tool)
    else:
        within: list[str | Path] = ["env", f"LD_PRELOAD={tool}", STRETTO, "exec", "--spec", "ring", program]
        ran = run(launched(mpi.abi, *within))
    assert ran.returncode == 0, ran.stderr
    assert "the tool saw MPI_Allreduce 7\n" in ran.stdout
    assert "the tool saw MPI_Bcast 1\n" in ran.stdout


def sanitized(mpi: Runner) -> Path:
    """A name without `=`, which env would take for a variable."""
    program = mpi.folder / "sanitized"
    program.unlink(missing_ok=True)
    program.hardlink_to(mpi.compiled("sanitized.c", "-fsanitize=address", "-g"))
    return program


@pytest.mark.parametrize("by", ["run", "exec"])
@pytest.mark.parametrize("around", [[], ["sh", "-c", '"$@"', "sh"], ["env", "ASAN_OPTIONS=detect_leaks=0"]])
def test_a_program_with_the_address_sanitizer(mpi: Runner, by: str, around: list[str]) -> None:
    program: list[str | Path] = [*around, sanitized(mpi)]
    # The MPI libraries themselves leak.
    quiet = {"ASAN_OPTIONS": "detect_leaks=0"}
    for wrong, line in ([], "right"), (["overflow"], "heap-buffer-overflow"):
        if by == "run":
            ran = run([STRETTO, "run", "--", *launched(mpi.abi, *program, *wrong)], None, **quiet)
        elif around[:1] == ["env"]:
            ran = run(launched(mpi.abi, *around, STRETTO, "exec", program[-1], *wrong))
        else:
            ran = run(launched(mpi.abi, STRETTO, "exec", *program, *wrong), None, **quiet)
        assert (ran.returncode == 0) is not bool(wrong), ran.stderr
        assert line in ran.stdout + ran.stderr


def test_a_launchers_own_settings_for_the_sanitizer(mpi: Runner) -> None:
    program = sanitized(mpi)
    option = {
        "openmpi": ["-x", "ASAN_OPTIONS=detect_leaks=0"],
        "mpich": ["-genv", "ASAN_OPTIONS", "detect_leaks=0"],
    }[mpi.abi]
    first, *others = launched(mpi.abi, program)
    ran = run([STRETTO, "run", "--", first, *option, *others])
    assert (ran.returncode, ran.stdout.count("right")) == (0, 2), ran.stderr


@pytest.mark.parametrize("name", [flavor.value for flavor in Flavor])
@pytest.mark.parametrize("by", ["run", "exec"])
def test_mpi4py_is_on_the_mpi_of_the_launcher(name: str, by: str) -> None:
    """As `stretto doctor` says: with nothing else set."""
    if name not in [install.flavor.value for install in installs()]:
        pytest.fail(f"make build gets {name}")
    launcher = find_install(name).launcher
    script = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.rank or print(w.size, MPI.Get_library_version())"
    program = [sys.executable, "-c", script]
    line = [str(launcher.path), "-n", "2"]
    if launcher.flavor.abi == "openmpi":
        line += ["--allow-run-as-root", "--oversubscribe"]
    ran = run([STRETTO, "run", "--", *line, *program] if by == "run" else [*line, STRETTO, "exec", *program])
    assert ran.returncode == 0, ran.stderr
    count, _, library_text = ran.stdout.partition(" ")
    assert count == "2"
    assert launcher.flavor.made(library_text), library_text


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("rign", 'there is no allreduce algorithm "rign" (did you mean ring?)'),
        ("bcast/ring", 'there is no bcast algorithm "ring"'),
        ("brodcast/chain", "--spec brodcast/chain: there is no such collective; there are allreduce, bcast"),
        ("ring:segments=0", "segments must be a whole number from 1"),
    ],
)
def test_a_spec_that_cannot_be_followed_is_refused(spec: str, reason: str) -> None:
    ran = run([STRETTO, "exec", "--spec", spec, "echo", "started"])
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert reason in ran.stderr
    by_run = run([STRETTO, "run", "--spec", spec, "--", "echo", "started"])
    assert by_run.stderr == ran.stderr.replace("stretto: exec: ", "stretto: ")


def test_two_specs_of_one_collective_are_refused() -> None:
    ran = run([STRETTO, "exec", "--spec", "ring", "--spec", "allreduce/swing", "echo", "started"])
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "a spec for allreduce is given already" in ran.stderr


def test_settings(tmp_path: Path) -> None:
    options = [
        *("--spec", "ring:segments=8", "--spec", "reduce_scatter/ring"),
        "--strict",
        "--stats=calls.json",
        *("--replace", "gloo"),
    ]
    ran = run([STRETTO, "exec", *options, "--set", "STRETTO_TABLE=none", "env"], cwd=tmp_path)
    assert {line for line in ran.stdout.splitlines() if line.startswith("STRETTO_")} == {
        "STRETTO_ALLREDUCE=ring:segments=8",
        "STRETTO_REDUCE_SCATTER=ring",
        "STRETTO_STRICT=1",
        "STRETTO_REPLACE=gloo",
        f"STRETTO_STATS={tmp_path}/calls.json",
        "STRETTO_TABLE=none",
        "STRETTO_FABRIC=none",
    }


def test_gloo_is_replaced() -> None:
    line = [STRETTO, "exec", "--replace=gloo", "sh", "-c", "echo preload=$LD_PRELOAD $STRETTO_REPLACE"]
    # PyTorch loads the library by itself.
    assert run(line, LD_PRELOAD="", RANK="1").stdout == "preload= gloo\n"
    # In a job of an MPI launcher, the program may call MPI too.
    assert run(line, LD_PRELOAD="", PMI_RANK="1").stdout == f"preload={library()} gloo\n"
    refused = run([STRETTO, "exec", "--replace", "nccl", "echo", "started"])
    by_run = run([STRETTO, "run", "--replace", "nccl", "--", "echo", "started"])
    assert (by_run.returncode, by_run.stdout) == (2, "")
    assert by_run.stderr == refused.stderr.replace("stretto: exec: ", "stretto: ")


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ([], 2, "exec: no program given; use: stretto exec ./program"),
        (["--"], 2, "exec: no program given; use: stretto exec ./program"),
        (["--colour", "true"], 2, "exec: there is no option --colour; use: stretto exec ./program"),
        (["--spec"], 2, "exec: --spec needs a value; use: stretto exec ./program"),
        (
            ["--set", "TABLE=none", "true"],
            2,
            "exec: --set TABLE=none: expected STRETTO_NAME=VALUE; use: stretto exec ./program",
        ),
        (["--replace", "nccl", "true"], 2, "exec: --replace nccl: it can only replace gloo"),
        (["is-not-there"], 127, "exec: is-not-there cannot be started: No such file or directory"),
        (["./is/not/there"], 127, "exec: ./is/not/there cannot be started: No such file or directory"),
        (["/etc/passwd"], 126, "exec: /etc/passwd cannot be started: Permission denied"),
        (["/etc"], 126, "exec: /etc cannot be started: Permission denied"),
    ],
)
def test_errors_are_one_line(words: list[str], code: int, line: str) -> None:
    ran = run([STRETTO, "exec", *words])
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", f"stretto: {line}\n")


def test_the_status_is_the_programs() -> None:
    assert run([STRETTO, "exec", "sh", "-c", "exit 7"]).returncode == 7
    assert run([STRETTO, "exec", "sh", "-c", "kill -TERM $$"]).returncode == -signal.SIGTERM


def test_a_script_without_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "job"
    script.write_text("echo $1 $LD_PRELOAD\n")
    script.chmod(0o755)
    ran = run([STRETTO, "exec", script, "this"], LD_PRELOAD="")
    assert ran.stdout == f"this {library()}\n"


@pytest.mark.parametrize("by", ["run", "exec"])
def test_a_preload_that_a_wrapper_removes(mpi: Runner, by: str) -> None:
    """The auditor reports it, since wrappers do not remove the auditor."""
    program = ["env", "-u", "LD_PRELOAD", str(mpi.compiled("partly.c"))]
    if by == "run":
        ran = run([STRETTO, "run", "--", *launched(mpi.abi, *program)])
    else:
        ran = run(launched(mpi.abi, STRETTO, "exec", *program))
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("runs without Stretto: LD_PRELOAD was changed before it was started") == 1


# Takes the place of an MPI library that is linked into a program.
INSIDE = "int PMPI_Init(void) { return 3; } int main(void) { return PMPI_Init(); }"


def test_a_program_with_an_mpi_library_inside(tmp_path: Path) -> None:
    program = str(compiled(tmp_path / "inside", INSIDE))
    reason = "an MPI library is linked into it; link it with the shared library"
    line = f"stretto: {program} runs without Stretto: {reason}\n"
    assert run([STRETTO, "exec", "--check", program]).stdout == f"{program}: {reason}\n"
    assert run([STRETTO, "exec", program], PMI_RANK="1").stderr == ""
    for words in ["exec"], ["run", "--"]:
        ran = run([STRETTO, *words, program])
        assert (ran.returncode, ran.stderr) == (3, line)
    assert run([STRETTO, "run", "--strict", "--", program]).returncode == 2


def test_what_is_told_at_the_end_of_a_process(tmp_path: Path) -> None:
    """If a script starts the program, nothing else has checked it before."""
    program = str(compiled(tmp_path / "inside", INSIDE))
    script = tmp_path / "job.sh"
    script.write_text(f'#!/bin/sh\n{program}\necho "status $?"\n')
    script.chmod(0o755)
    stats = tmp_path / "stats.json"
    ran = run([STRETTO, "exec", "--stats", stats, script], PMI_RANK="0")
    assert ran.stdout == "status 3\n"
    expected = (
        f"none of the calls of {program} reached Stretto: an MPI library is linked into it statically; "
    )
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"stretto: {expected}")
    written = json.loads(stats.read_text())
    assert written["unserved"].startswith(expected)
    assert written["calls"] == []
    assert run([STRETTO, "exec", "--strict", script], PMI_RANK="0").stdout == "status 1\n"
    # No rank of a job, or not the first one.
    assert run([STRETTO, "exec", script]).stderr == ""
    assert run([STRETTO, "exec", script], PMI_RANK="1").stderr == ""


@pytest.mark.parametrize(
    ("words", "status", "answer"),
    [
        (["sh"], 0, "/bin/sh: Stretto can be preloaded\n"),
        (["./nosuch"], 127, "./nosuch: No such file or directory\n"),
    ],
)
def test_check_starts_nothing(words: list[str], status: int, answer: str) -> None:
    ran = run([STRETTO, "exec", "--check", "--summary", *words, "-c", "echo started"])
    assert (ran.returncode, ran.stderr) == (status, "")
    assert ran.stdout.endswith(answer)


def test_a_static_program(tmp_path: Path) -> None:
    program = compiled(tmp_path / "static", "int main(void) { return 3; }", "-static")
    ran = run([STRETTO, "exec", program])
    assert ran.returncode == 3
    reason = "it is linked statically; link libstretto into it"
    assert ran.stderr == f"stretto: {program} runs without Stretto: {reason}\n"
    for rank in ("PMI_RANK", "RANK"):  # torchrun's ranks, too
        assert run([STRETTO, "exec", program], None, **{rank: "1"}).stderr == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_program_with_the_rights_of_another_user(tmp_path: Path) -> None:
    program = compiled(tmp_path / "special", "int main(void) { return 4; }")
    os.chown(program, 12345, 12345)
    program.chmod(0o4755)
    ran = run([STRETTO, "exec", program])
    assert ran.returncode == 4
    assert ran.stderr.startswith(
        f"stretto: {program} runs without Stretto: it runs with more rights than its user"
    )


def test_programs_of_another_libc(tmp_path: Path) -> None:
    loader = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"
    program = compiled(tmp_path / "musl", "int main(void) { return 0; }", loader)
    assert "it is built for musl, not glibc" in run([STRETTO, "exec", program]).stderr


def test_an_installation_without_the_library(mpi: Runner, tmp_path: Path) -> None:
    program = mpi.compiled("pairing.cpp")
    ran = run(launched(mpi.abi, STRETTO, "exec", program), STRETTO_LIB_DIR=str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert "right" in ran.stdout
    reason = "libstretto.so was not found; install Stretto again, or set STRETTO_LIB_DIR to its folder"
    assert [line for line in ran.stderr.splitlines() if line.startswith("stretto: ")] == [
        f"stretto: {program} runs without Stretto: {reason}"
    ]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(4, 1023), st.integers(0, 255)), max_size=12), st.integers(4, 2000))
def test_damaged_programs(tmp_path: Path, changes: list[tuple[int, int]], length: int) -> None:
    """The contents of a damaged program's file are not trusted. The kernel refuses to start it."""
    content = bytearray(Path("/bin/true").read_bytes())
    for place, value in changes:
        content[place] = value
    content[16:18] = b"\xff\xff"  # no type that is ever started
    program = tmp_path / "damaged"
    program.write_bytes(content[:length] if length < 1500 else content)
    program.chmod(0o755)
    ran = subprocess.run([STRETTO, "exec", program], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 126
    assert ran.stderr.endswith(f"exec: {program} cannot be started: Exec format error\n")
    # No shell has read the program: a `>` among its bytes would create a file.
    assert list(tmp_path.iterdir()) == [program]


def test_python_m_stretto_does_the_same() -> None:
    ran = run([sys.executable, "-m", "stretto", "exec", "--", "sh", "-c", "echo $LD_PRELOAD"], LD_PRELOAD="")
    assert ran.stdout == f"{library()}\n"
    line = [sys.executable, "-m", "stretto", "exec", "--set", "STRETTO_TABLE=none", "--summary"]
    ran = run([*line, "sh", "-c", "echo $STRETTO_TABLE $STRETTO_SUMMARY $*", "sh", "--", "--strict"])
    assert (ran.stdout, ran.stderr) == ("none 1 -- --strict\n", "")
