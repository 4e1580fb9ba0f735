# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.launch import mpi, run
from stretto.launch.mpi import Flavor
from stretto.support import paths
from stretto.support.errors import StrettoError

VARIABLES = {"LD_PRELOAD": "/lib/libstretto.so", "STRETTO_ALLREDUCE": "ring:segments=4"}
OPENMPI = ["-x", "LD_PRELOAD=/lib/libstretto.so", "-x", "STRETTO_ALLREDUCE=ring:segments=4"]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
HYDRA = ["-genv", "LD_PRELOAD", "/lib/libstretto.so", "-genv", "STRETTO_ALLREDUCE", "ring:segments=4"]


@pytest.mark.parametrize("flavor", [Flavor.OPENMPI4, Flavor.OPENMPI5])
def test_open_mpi(flavor: Flavor) -> None:
    arguments = ["-np", "8", "--mca", "btl", "tcp,self", "python", "train.py", "-x", "3"]
    assert run.rewrite(flavor, arguments, VARIABLES) == OPENMPI + arguments


@pytest.mark.parametrize("flavor", [Flavor.OPENMPI4, Flavor.OPENMPI5])
def test_open_mpi_with_several_programs(flavor: Flavor) -> None:
    arguments = ["-np", "1", "a", ":", "-np", "2", "b"]
    expected = [*OPENMPI, "-np", "1", "a", ":", *OPENMPI, "-np", "2", "b"]
    assert run.rewrite(flavor, arguments, VARIABLES) == expected


@pytest.mark.parametrize("flavor", [Flavor.MPICH4, Flavor.MPICH5, Flavor.INTELMPI])
def test_hydra(flavor: Flavor) -> None:
    # -genv applies to all programs of the line.
    arguments = ["-n", "8", "python", "train.py", ":", "-n", "1", "-env", "A", "1", "b"]
    assert run.rewrite(flavor, arguments, VARIABLES) == HYDRA + arguments


WORDS = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from([":", "-x", "-genv", "--", "A=1"])), max_size=12
)
NAMES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", min_size=1, max_size=8)


def parts(words: list[str]) -> list[list[str]]:
    """The words between lone colons."""
    result: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            result.append([])
        else:
            result[-1].append(word)
    return result


@given(st.sampled_from(Flavor), WORDS, st.dictionaries(NAMES, st.text(max_size=8), max_size=4))
def test_the_users_arguments_stay_in_order(
    flavor: Flavor, words: list[str], variables: dict[str, str]
) -> None:
    options = run.rank_options(flavor, variables)
    result = run.rewrite(flavor, words, variables)
    if flavor.abi == "mpich":
        assert result == options + words
    else:
        assert parts(result) == [options + part for part in parts(words)]


def test_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {
        "STRETTO_ALLREDUCE": "native",
        "STRETTO_CHECK": "1",
        "STRETTO_STATS": "calls.json",
        "STRETTO_TABLE": "table.json",
        "STRETTO_TRACE": "traces",
        "STRETTO_WATCHDOG": "30s",
        "STRETTO_LIB_DIR": "/x",
        "STRETTO_MPI_PREFIXES": "/y",
        "HOME": "/root",
    }
    others = {
        "STRETTO_CHECK": "1",
        "STRETTO_TABLE": str(tmp_path / "table.json"),
        "STRETTO_TRACE": str(tmp_path / "traces"),
        "STRETTO_WATCHDOG": "30s",
        "STRETTO_LIB_DIR": "/x",
        "STRETTO_MPI_PREFIXES": "/y",
    }
    assert run.stretto_variables(environment) == {
        "STRETTO_ALLREDUCE": "native",
        "STRETTO_STATS": str(tmp_path / "calls.json"),
        **others,
    }
    assert run.stretto_variables(environment, ["ring", "bcast/chain:segments=4"]) == {
        "STRETTO_ALLREDUCE": "ring",
        "STRETTO_BCAST": "chain:segments=4",
        "STRETTO_STATS": str(tmp_path / "calls.json"),
        **others,
    }
    # An empty value counts as not set.
    assert run.stretto_variables({"STRETTO_TABLE": "none"}) == {"STRETTO_TABLE": "none"}
    assert run.stretto_variables({"STRETTO_TRACE": "", "STRETTO_STATS": ""}) == {
        "STRETTO_TRACE": "",
        "STRETTO_STATS": "",
    }


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (["rign"], "rign"),
        (["bcast/ring"], "ring"),
        (["brodcast/chain"], "there is no such collective; there are allreduce, bcast"),
        (["ring", "allreduce/swing"], "a spec for allreduce is given already: ring"),
    ],
)
def test_specs_that_cannot_be_followed(specs: list[str], message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        run.stretto_variables({}, specs)


@pytest.mark.parametrize(
    ("wanted", "is_terminal", "environment", "expected"),
    [
        (None, True, {}, "large"),
        (None, False, {}, None),
        (None, True, {"STRETTO_SUMMARY": "0"}, None),
        (True, False, {}, "1"),
        (False, True, {"STRETTO_SUMMARY": "1"}, "0"),
    ],
)
def test_a_summary_is_for_terminals(
    wanted: bool | None, is_terminal: bool, environment: dict[str, str], expected: str | None
) -> None:
    setting = run.summary_setting(wanted, environment, is_terminal=is_terminal)
    assert setting.get("STRETTO_SUMMARY") == expected


def test_mpi4py_takes_the_mpi_of_the_launcher() -> None:
    launcher = mpi.identify("mpirun.openmpi")
    assert launcher is not None
    chosen = run.mpi4py_settings(launcher, {})
    assert list(chosen) == ["MPI4PY_LIBMPI"]
    assert Path(chosen["MPI4PY_LIBMPI"]).name == "libmpi.so.40"
    assert run.mpi4py_settings(launcher, {"MPI4PY_LIBMPI": "/own"}) == {}
    assert run.mpi4py_settings(launcher, {"MPI4PY_MPIABI": "mpich"}) == {}


def test_mpi4py_never_takes_another_mpi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Debian's MPICH lacks the file that the wheel needs. The wheel must not load Open MPI instead.
    launcher = mpi.identify("mpirun.mpich")
    assert launcher is not None
    alias = mpi.find_alias(launcher)
    assert alias is not None
    # Outside of this clone, nobody has made a folder in which a file has that name.
    command = Path(shutil.copy2(paths.command(), tmp_path))
    monkeypatch.setattr(paths, "find_command", lambda: command)
    monkeypatch.chdir(tmp_path)
    assert run.mpi4py_settings(launcher, {}) == {"MPI4PY_MPIABI": "mpich"}
    # If there is one, the wheel finds it. The user's folders come first.
    named = {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": f"/own:{alias}"}
    environment = {"LD_LIBRARY_PATH": "/own", "STRETTO_MPI_PREFIXES": f"/nowhere:{alias.parent}"}
    assert run.mpi4py_settings(launcher, environment) == named


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """A folder with a shared object that has the right name."""
    folder = tmp_path / "lib"
    folder.mkdir()
    source = tmp_path / "empty.c"
    source.write_text("int stretto_stand_in;\n")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", folder / "libstretto.so"], check=True)
    return folder


def stretto_run(
    libraries: Path, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(
        [sys.executable, "-m", "stretto", "run", *arguments],
        env={**inherited, **AS_ROOT, "STRETTO_LIB_DIR": str(libraries), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=60,
    )


open_mpi_and_mpich = pytest.mark.parametrize(
    "launcher", ["mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich"]
)


SHOW = """#!/bin/sh
echo "preload=$LD_PRELOAD allreduce=$STRETTO_ALLREDUCE arguments=$*"
tr '\\0' '\\n' </proc/$PPID/environ | sed -n 's/^LD_PRELOAD=/daemon preload /p'
exit 5
"""


@open_mpi_and_mpich
def test_ranks_get_everything_and_the_launcher_nothing(
    launcher: str, libraries: Path, tmp_path: Path
) -> None:
    program = tmp_path / "show"
    program.write_text(SHOW)
    program.chmod(0o755)
    arguments = ["--", launcher, "-np", "1", str(program), "a b", "-x", "--spec"]
    done = stretto_run(libraries, "--spec", "ring", *arguments)
    expected = f"preload={libraries}/libstretto.so allreduce=ring arguments=a b -x --spec"
    assert expected in done.stdout.splitlines()
    assert "daemon preload" not in done.stdout
    assert done.returncode == 5


@open_mpi_and_mpich
def test_every_program_of_several(launcher: str, libraries: Path) -> None:
    program = ["-np", "1", "sh", "-c", "echo preload=$LD_PRELOAD"]
    done = stretto_run(libraries, "--", launcher, *program, ":", *program)
    assert done.stdout.count(f"preload={libraries}/libstretto.so\n") == 2


def test_a_program_that_is_missing_is_the_launchers_to_report(libraries: Path) -> None:
    done = stretto_run(libraries, "--", "mpirun.mpich", "-np", "1", "/nowhere/program")
    assert done.returncode not in (0, 2)
    assert "/nowhere/program" in done.stdout + done.stderr
    assert "stretto:" not in done.stderr


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("stretto: ")
    return done.stderr


def test_gloo_is_replaced_in_what_torchrun_starts(libraries: Path, tmp_path: Path) -> None:
    torchrun = tmp_path / "torchrun"
    torchrun.write_text("#!/bin/sh\necho preload=$LD_PRELOAD $STRETTO_REPLACE $STRETTO_ALLREDUCE $*\n")
    torchrun.chmod(0o755)
    done = stretto_run(libraries, "--replace", "gloo", "--spec", "ring", "--", str(torchrun), "train.py")
    # PyTorch loads the library by itself.
    assert (done.returncode, done.stdout) == (0, "preload= gloo ring train.py\n")
    done = stretto_run(libraries, "--replace", "nccl", "--", str(torchrun))
    assert "--replace nccl: it can only replace gloo" in one_line(done)


@open_mpi_and_mpich
def test_gloo_is_replaced_in_ranks_of_an_mpi_launcher(launcher: str, libraries: Path) -> None:
    show = ["sh", "-c", "echo preload=$LD_PRELOAD $STRETTO_REPLACE"]
    done = stretto_run(libraries, "--replace", "gloo", "--", launcher, "-np", "1", *show)
    assert f"preload={libraries}/libstretto.so gloo\n" in done.stdout


@open_mpi_and_mpich
def test_a_dry_run_prints_what_would_be_started(launcher: str, libraries: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    line = [launcher, "-np", "1", "touch", str(started), "a b"]
    options = ["--dry-run", "--spec", "ring:segments=4", "--summary"]
    done = stretto_run(libraries, *options, "--", *line, environment={"STRETTO_CHECK": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    *variables, command = done.stdout.splitlines()
    given = dict(one.split("=", 1) for one in variables)
    assert (
        given.items()
        >= {
            "LD_PRELOAD": f"{libraries}/libstretto.so",
            "STRETTO_ALLREDUCE": "ring:segments=4",
            "STRETTO_CHECK": "1",
            "STRETTO_SUMMARY": "1",
        }.items()
    )
    words = shlex.split(command)
    flavor = Flavor.OPENMPI4 if "openmpi" in launcher else Flavor.MPICH4
    assert words == [launcher, *run.rank_options(flavor, given), *line[1:]]
    assert not started.exists()
    # What it prints is what is started.
    again = subprocess.run(
        command, shell=True, cwd=tmp_path, env=os.environ | AS_ROOT, capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    assert started.exists()


def test_a_dry_run_of_torchrun(libraries: Path, tmp_path: Path) -> None:
    torchrun = tmp_path / "torchrun"
    torchrun.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    torchrun.chmod(0o755)
    done = stretto_run(libraries, "--dry-run", "--replace", "gloo", "--", str(torchrun), "train.py", "a b")
    assert (done.returncode, done.stderr) == (0, "")
    *variables, command = done.stdout.splitlines()
    assert "STRETTO_REPLACE=gloo" in variables
    assert not any(one.startswith("LD_PRELOAD") for one in variables)
    assert command == " ".join(["env", *variables, str(torchrun), "train.py", "'a b'"])
    assert not (tmp_path / "started").exists()


def test_a_dry_run_complains_as_a_run_does(libraries: Path) -> None:
    done = stretto_run(libraries, "--dry-run", "--", "nosuch")
    assert "nosuch is not in PATH" in one_line(done)
    assert done.stdout == ""


def test_an_unknown_launcher_may_start_ranks_of_any_mpi(libraries: Path, tmp_path: Path) -> None:
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\nprintf "%s " "$@"\necho $A preload=$LD_PRELOAD $STRETTO_ALLREDUCE\n')
    srun.chmod(0o755)
    done = stretto_run(libraries, "--spec", "ring", "--", "env", "A=1", str(srun), "-n", "2", "./program")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"-n 2 ./program 1 preload={libraries}/libstretto.so ring\n"


@pytest.mark.parametrize("wrapper", ["env -u B STRETTO_BCAST=chain", "timeout -k 5 50 nice -n 1", "nohup"])
@open_mpi_and_mpich
def test_a_launcher_behind_a_wrapper(wrapper: str, launcher: str, libraries: Path) -> None:
    show = ["sh", "-c", "echo preload=$LD_PRELOAD $STRETTO_ALLREDUCE $STRETTO_BCAST; exit 5"]
    line = [*wrapper.split(), launcher, "-np", "1", *show]
    done = stretto_run(libraries, "--spec", "ring", "--", *line)
    for _ in range(3):
        # Hydra 4.0.2 sometimes loses a program that ends at once, with or without Stretto.
        if "error waiting for event" not in done.stderr:
            break
        done = stretto_run(libraries, "--spec", "ring", "--", *line)
    chain = " chain" if "chain" in wrapper else ""
    assert f"preload={libraries}/libstretto.so ring{chain}\n" in done.stdout
    assert done.returncode == 5


def test_a_launcher_that_a_wrapper_finds_elsewhere(libraries: Path, tmp_path: Path) -> None:
    mpirun = tmp_path / "mpirun"
    mpirun.write_text('#!/bin/sh\nexec mpirun.mpich "$@"\n')
    mpirun.chmod(0o755)
    path = f"PATH={tmp_path}:{os.environ['PATH']}"
    done = stretto_run(libraries, "--", "env", path, "mpirun", "-np", "1", "sh", "-c", "echo $LD_PRELOAD")
    assert f"{libraries}/libstretto.so\n" in done.stdout


@pytest.mark.parametrize("abi", ["openmpi", "mpich"])
def test_a_script_with_its_mpi_named(abi: str, libraries: Path, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(f"mpirun.{abi} -np 1 sh -c 'echo preload=$LD_PRELOAD $STRETTO_ALLREDUCE'\nexit 5\n")
    line = ["env", "-u", "STRETTO_ALLREDUCE", "bash", str(script)]
    done = stretto_run(libraries, "--mpi", abi, "--spec", "ring", "--", *line)
    assert f"preload={libraries}/libstretto.so ring\n" in done.stdout
    assert done.returncode == 5


def test_an_mpi_that_is_not_the_launchers(libraries: Path) -> None:
    done = stretto_run(
        libraries, "--mpi", "mpich", "--", "timeout", "5", "mpirun.openmpi", "-np", "1", "true"
    )
    assert "--mpi mpich: mpirun.openmpi is the launcher of Open MPI 4" in one_line(done)
    assert "--mpi lam: there is no such MPI" in one_line(stretto_run(libraries, "--mpi", "lam", "--", "true"))
    # The launcher of another version has the same binary interface.
    done = stretto_run(libraries, "--mpi", "openmpi5", "--", "mpirun.openmpi", "-np", "1", "true")
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("options", "environment", "remedy"),
    [
        (["--export=NONE"], {}, "--export=ALL"),
        (["-n", "2", "--export", "A=1,B"], {}, "--export=ALL,A=1,B"),
        (["-n2"], {"SLURM_EXPORT_ENV": "NONE"}, "--export=ALL"),
        (["-l", "true", "--export=NONE"], {}, None),
        (["--export=ALL,A=1"], {"SLURM_EXPORT_ENV": "NONE"}, None),
    ],
)
def test_an_srun_that_hands_nothing_on(
    options: list[str], environment: dict[str, str], remedy: str | None, libraries: Path, tmp_path: Path
) -> None:
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\necho preload=$LD_PRELOAD\n")
    srun.chmod(0o755)
    line = ["--mpi", "mpich", "--", str(srun), *options, "true"]
    done = stretto_run(libraries, *line, environment=environment)
    if remedy is None:
        assert done.stdout == f"preload={libraries}/libstretto.so\n"
    else:
        assert one_line(done).endswith(f"give srun {remedy}\n")


def test_no_double_dash(libraries: Path) -> None:
    assert "there is no --" in one_line(stretto_run(libraries, "mpirun.openmpi", "-np", "2", "true"))


def test_nothing_after_the_double_dash(libraries: Path) -> None:
    assert "no launcher given" in one_line(stretto_run(libraries, "--"))


def test_a_missing_library(tmp_path: Path) -> None:
    done = stretto_run(tmp_path, "--", "mpirun.openmpi", "-np", "1", "true")
    assert f"{tmp_path}/libstretto.so does not exist" in one_line(done)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT"])
@pytest.mark.parametrize(
    "line",
    [
        "mpirun.openmpi -x NAME=/a.so -np 1 true",
        "mpirun.mpich -genv NAME /a.so -np 1 true",
        "mpirun.mpich -np 1 -env NAME /a.so true",
    ],
)
def test_a_second_setting_is_refused(line: str, name: str, libraries: Path) -> None:
    arguments = line.replace("NAME", name).split()
    assert f"would clash with Stretto's {name};" in one_line(stretto_run(libraries, "--", *arguments))


def test_a_preload_in_the_environment_stays(libraries: Path) -> None:
    other = str(libraries / "libtool.so")
    shutil.copy2(libraries / "libstretto.so", other)
    arguments = ["--", "mpirun.openmpi", "-np", "1", "sh", "-c", "echo preload=$LD_PRELOAD"]
    done = stretto_run(libraries, *arguments, environment={"LD_PRELOAD": other})
    assert f"preload={other}:{libraries}/libstretto.so\n" in done.stdout


@pytest.mark.parametrize(
    ("flavor", "arguments", "expected"),
    [
        (Flavor.OPENMPI4, "-x ASAN_OPTIONS=a=1 -n 2 p", "-x ASAN_OPTIONS=a=1:ORDER -n 2 p"),
        (Flavor.OPENMPI4, "-x ASAN_OPTIONS -n 2 p", "-x ASAN_OPTIONS=own:ORDER -n 2 p"),
        (Flavor.MPICH4, "-genv ASAN_OPTIONS a=1 p", "-genv ASAN_OPTIONS a=1:ORDER p"),
        (Flavor.MPICH4, "-n 2 -env ASAN_OPTIONS a=1 p", "-n 2 -env ASAN_OPTIONS a=1:ORDER p"),
        (Flavor.MPICH4, "-n 2 env ASAN_OPTIONS=ORDER p", "-n 2 env ASAN_OPTIONS=ORDER p"),
        (Flavor.MPICH4, "-n 2 p ASAN_OPTIONS x", "-n 2 p ASAN_OPTIONS x"),
    ],
)
def test_the_users_options_of_the_sanitizer_stay(flavor: Flavor, arguments: str, expected: str) -> None:
    order = "verify_asan_link_order=0"
    words = arguments.replace("ORDER", order).split()
    given = run.rank_variables({"ASAN_OPTIONS": "own"})
    assert given["ASAN_OPTIONS"] == f"own:{order}"
    assert run.sanitizers_in_any_order(flavor, words, given) == expected.replace("ORDER", order).split()


@pytest.mark.parametrize("line", ["nosuch", "timeout 5 nosuch", "./nosuch", "env -i /nosuch"])
def test_a_program_that_is_not_there(line: str, libraries: Path) -> None:
    said = one_line(stretto_run(libraries, "--", *line.split()))
    where = "does not exist" if "/" in line else "is not in PATH"
    program = line.rpartition(" ")[2]
    assert said == f"stretto: {program} {where}; use: stretto run -- mpirun -np 4 ./program\n"


def test_a_program_that_cannot_be_started(libraries: Path, tmp_path: Path) -> None:
    (tmp_path / "job.sh").touch()
    assert "job.sh is not executable" in one_line(stretto_run(libraries, "--", str(tmp_path / "job.sh")))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_open_mpi_for_root(libraries: Path) -> None:
    line = ["--", "mpirun.openmpi", "-np", "1", "true"]
    unset = {"OMPI_ALLOW_RUN_AS_ROOT": ""}
    said = one_line(stretto_run(libraries, *line, environment=unset))
    assert said.startswith(
        "stretto: mpirun.openmpi of Open MPI 4 does not run as root by default; use: mpirun.openmpi "
        "--allow-run-as-root …, or set OMPI_ALLOW_RUN_AS_ROOT=1 and "
    )
    told = [*line[:2], "--allow-run-as-root", *line[2:]]
    assert stretto_run(libraries, *told, environment=unset).returncode == 0
