# SPDX-License-Identifier: Apache-2.0
"""`stretto exec` behind srun, and `srun --stretto`, in a Slurm of this machine alone."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.e2e.torch_starting import PYTHON

from stretto.doctor.lines import LinesFor, lines_for
from stretto.support.paths import find_command, library

ROOT = Path(__file__).parents[2]
STRETTO = str(find_command())
SERVED = "by Stretto and 0 by"
FORCED = ["--spec=ring", "--spec=bcast/chain", "--spec=reduce/chain", "--spec=allgather/ring", "--summary"]
FORCED += ["--set=STRETTO_PROGRESS_THREAD=1"]
# The same, for the plugin.
SETTINGS = {"SUMMARY": "1", "PROGRESS_THREAD": "1", "ALLREDUCE": "ring", "BCAST": "chain", "REDUCE": "chain"}
SETTINGS = {f"STRETTO_{name}": value for name, value in {**SETTINGS, "ALLGATHER": "ring"}.items()}
SET = ["/usr/bin/env", *(f"{name}={value}" for name, value in SETTINGS.items())]
PMI = {"openmpi": "pmix", "mpich": "pmi2"}
# Prints what the plugin sets, in brackets.
SHOW = ["sh", "-c", 'echo "[$LD_PRELOAD|$LD_AUDIT|$ASAN_OPTIONS]"']
IN_ANY_ORDER = "verify_asan_link_order=0"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of its commands."""
    assert shutil.which("slurmctld"), "there is no Slurm: apt-get install slurm-wlm libslurm-dev munge"
    folder = tmp_path_factory.mktemp("slurm")
    subprocess.run([Path(__file__).with_name("slurm_up.sh"), folder], check=True, timeout=60)
    try:
        yield {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    finally:
        for daemon in ("slurmctld", "slurmd"):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((folder / f"{daemon}.pid").read_text()), signal.SIGTERM)


@pytest.fixture(scope="module", params=list(PMI))
def abi(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(abi: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("program") / f"pairing-{abi}"
    source = ROOT / "tests" / "interpose" / "pairing.cpp"
    flags = ["-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    subprocess.run([f"mpicxx.{abi}", *flags, source, "-o", out], check=True, capture_output=True)
    return out


def run(slurm: dict[str, str], words: Sequence[str | Path], cwd: Path, *, succeeds: bool = True) -> str:
    ran = subprocess.run(
        list(map(str, words)),
        env=slurm,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    assert (ran.returncode == 0) == succeeds, ran.stdout
    return ran.stdout


def launcher_of(abi: str) -> str:
    """The library's own launcher, for two ranks."""
    options = "--allow-run-as-root --oversubscribe" if abi == "openmpi" else ""
    return f"mpirun.{abi} {options} -n 2"


@pytest.mark.parametrize("export", [[], ["--export=NONE"]], ids=["with-all", "with-nothing"])
@pytest.mark.parametrize("shell", [[], ["bash", "-c", '"$@"; exit $?', "bash"]], ids=["itself", "shell"])
def test_srun(
    slurm: dict[str, str], abi: str, program: Path, export: list[str], shell: list[str], tmp_path: Path
) -> None:
    launcher = ["srun", f"--mpi={PMI[abi]}", *export, "-n", "2"]
    output = run(slurm, [*launcher, STRETTO, "exec", *FORCED, *shell, program], tmp_path)
    assert "right" in output
    assert output.count(SERVED) == 1


def test_sbatch(slurm: dict[str, str], abi: str, program: Path, tmp_path: Path) -> None:
    """srun in a batch job, and the library's own launcher."""
    words = " ".join(map(str, [STRETTO, "exec", *FORCED, program]))
    script = tmp_path / "job.sh"
    script.write_text(
        f"#!/bin/sh\nsrun --mpi={PMI[abi]} --export=NONE {words} &&\n{launcher_of(abi)} {words}\n"
    )
    output = tmp_path / "output"
    run(slurm, ["sbatch", "--wait", "-n", "2", "-o", output, script], tmp_path)
    assert output.read_text().splitlines().count("right") == 2
    assert output.read_text().count(SERVED) == 2


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin, compiled by the line of `stretto doctor --lines slurm`, which must give no warning."""
    [line] = [line for group in lines_for(LinesFor.SLURM) for line in group.lines if line.startswith("cc ")]
    words = shlex.split(line)
    compiled = tmp_path_factory.mktemp("plugin") / "spank_stretto.so"
    words[words.index("-o") + 1] = str(compiled)
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    subprocess.run([*words, *strict], check=True)
    return compiled


@pytest.fixture
def configure(slurm: dict[str, str], plugin: Path) -> Iterator[Callable[..., None]]:
    """Writes plugstack.conf, which Slurm reads for each job, with these arguments of the plugin."""
    file = Path(slurm["SLURM_CONF"]).with_name("plugstack.conf")

    def write(*arguments: str, path: Path = plugin) -> None:
        file.write_text(" ".join(["required", str(path), *arguments]) + "\n")

    yield write
    file.unlink()


@pytest.fixture
def stretto_option(configure: Callable[..., None]) -> None:
    """srun has the option --stretto, for the library of this installation."""
    configure(f"lib={library().parent}")


def in_brackets(output: str) -> list[list[str]]:
    """What each SHOW printed: LD_PRELOAD, LD_AUDIT and ASAN_OPTIONS."""
    return [line[1:-1].split("|") for line in output.splitlines() if line.startswith("[")]


def with_it() -> list[str]:
    """Returns the output of SHOW if only Stretto is preloaded."""
    return [str(library()), str(library().with_name("libstretto-audit.so")), IN_ANY_ORDER]


@pytest.fixture
def bare(slurm: dict[str, str]) -> dict[str, str]:
    """The environment without the objects that the tests themselves preload."""
    return {**slurm, "LD_PRELOAD": ""}


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    """A folder of objects that may be preloaded, and may audit: they do nothing."""
    folder = tmp_path / "objects"
    folder.mkdir()
    source = tmp_path / "object.c"
    source.write_text("unsigned la_version(unsigned version) { return version; }\n")
    for name in ("libtool.so", "libother.so", "libmpi.so.40", "libstretto-old.so", "libstretto-audit.so"):
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", folder / name], check=True)
    (folder / "libstretto.so").symlink_to(library())
    return folder


@pytest.mark.parametrize("export", [[], ["--export=NONE"]], ids=["with-all", "with-nothing"])
@pytest.mark.usefixtures("stretto_option")
def test_the_plugin(
    slurm: dict[str, str], abi: str, program: Path, export: list[str], tmp_path: Path
) -> None:
    """The program stays as it is."""
    launcher = ["srun", f"--mpi={PMI[abi]}", *export, "-n", "2"]
    output = run(slurm, [*launcher, "--stretto", *SET, program], tmp_path)
    assert "right" in output
    assert output.count(SERVED) == 1
    for without in (["--stretto=off"], []):
        output = run(slurm, [*launcher, *without, *SET, program], tmp_path)
        assert "right" in output
        assert SERVED not in output
    output = run(slurm, [*launcher, "--stretto", *SET, "STRETTO_DISABLE=1", program], tmp_path)
    assert "right" in output
    assert SERVED not in output


@pytest.mark.parametrize("export", ["ALL", "NONE"])
@pytest.mark.usefixtures("stretto_option")
def test_a_batch_job_by_the_plugin(
    slurm: dict[str, str], abi: str, program: Path, export: str, tmp_path: Path
) -> None:
    """sbatch --stretto holds for each srun of the job, and for the library's own launcher."""
    words = " ".join(map(str, [*SET, program]))
    srun = f"srun --mpi={PMI[abi]}"
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/sh\n#SBATCH --stretto\n"
        f"{srun} {words} &&\n{launcher_of(abi)} {words} &&\n{srun} --stretto=off {words}\n"
    )
    output = tmp_path / "output"
    run(slurm, ["sbatch", "--wait", f"--export={export}", "-n", "2", "-o", output, script], tmp_path)
    assert output.read_text().splitlines().count("right") == 3
    assert output.read_text().count(SERVED) == 2


@pytest.mark.usefixtures("stretto_option")
def test_salloc_by_the_plugin(bare: dict[str, str], tmp_path: Path) -> None:
    shown = in_brackets(run(bare, ["salloc", "-n", "1", "--stretto", "srun", *SHOW], tmp_path))
    assert shown == [with_it()]


def test_the_plugin_for_all_jobs(
    bare: dict[str, str], configure: Callable[..., None], tmp_path: Path
) -> None:
    configure(f"lib={library().parent}", "default=on")
    assert in_brackets(run(bare, ["srun", *SHOW], tmp_path)) == [with_it()]
    assert in_brackets(run(bare, ["srun", "--stretto=off", *SHOW], tmp_path)) == [["", "", ""]]
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n{shlex.join(SHOW)}\nsrun {shlex.join(SHOW)}\n")
    output = tmp_path / "output"
    for option, expected in ([], with_it()), (["--stretto=off"], ["", "", ""]):
        run(bare, ["sbatch", "--wait", "-o", output, *option, script], tmp_path)
        assert in_brackets(output.read_text()) == [expected, expected]


@pytest.mark.parametrize(
    "preloaded",
    [
        "",
        "{0}/libtool.so",
        "{0}/libtool.so:{0}/libother.so",
        "{0}/libmpi.so.40 {0}/libtool.so",
        "{0}/libstretto-old.so::{0}/libtool.so:{1}",
        "{1}:{1}",
    ],
)
@pytest.mark.usefixtures("stretto_option")
def test_the_plugin_preloads_as_exec_does(
    bare: dict[str, str], objects: Path, preloaded: str, tmp_path: Path
) -> None:
    """Other preloaded objects stay in front, except MPI libraries and other Strettos."""
    variables = f"PATH,STRETTO_LIB_DIR={library().parent},ASAN_OPTIONS=a=1"
    launcher = ["srun", f"--export={variables},LD_PRELOAD={preloaded.format(objects, library())}"]
    by_exec = in_brackets(run(bare, [*launcher, STRETTO, "exec", *SHOW], tmp_path))
    assert in_brackets(run(bare, [*launcher, "--stretto", *SHOW], tmp_path)) == by_exec
    assert by_exec[0][2] == f"a=1:{IN_ANY_ORDER}"


def test_the_plugin_keeps_auditors(
    bare: dict[str, str], configure: Callable[..., None], objects: Path, tmp_path: Path
) -> None:
    """Stretto's auditor comes after the user's auditors, if it is there."""
    configure(f"lib={objects}")
    variables = f"--export=PATH,LD_AUDIT={objects}/libtool.so"
    [shown] = in_brackets(run(bare, ["srun", variables, "--stretto", *SHOW], tmp_path))
    assert shown[:2] == [f"{objects}/libstretto.so", f"{objects}/libtool.so:{objects}/libstretto-audit.so"]
    [shown] = in_brackets(run(bare, ["srun", variables, "--stretto=off", *SHOW], tmp_path))
    assert shown[:2] == ["", f"{objects}/libtool.so"]
    (objects / "libstretto-audit.so").unlink()
    [shown] = in_brackets(run(bare, ["srun", variables, "--stretto", *SHOW], tmp_path))
    assert shown[:2] == [f"{objects}/libstretto.so", f"{objects}/libtool.so"]


def test_the_library_beside_the_plugin(
    bare: dict[str, str], configure: Callable[..., None], plugin: Path, objects: Path, tmp_path: Path
) -> None:
    """The plugin's own folder is the default, unless plugstack.conf names another folder."""
    moved = Path(shutil.copy(plugin, objects))
    configure(path=moved)
    [shown] = in_brackets(run(bare, ["srun", "--stretto", *SHOW], tmp_path))
    assert shown[0] == f"{objects}/libstretto.so"


@pytest.mark.parametrize("wrong", ["ring", "ON", "1"])
@pytest.mark.usefixtures("stretto_option")
def test_a_wrong_value_of_the_option(slurm: dict[str, str], wrong: str, tmp_path: Path) -> None:
    """There is no job then."""
    output = run(slurm, ["srun", f"--stretto={wrong}", "echo", "started"], tmp_path, succeeds=False)
    assert f"srun: error: --stretto={wrong}: expected on or off\n" in output
    assert "started" not in output


@pytest.mark.parametrize("wrong", ["lib=stretto/lib", "lib=/a:b", "default=maybe", "libs"])
def test_a_wrong_argument_in_plugstack_conf(
    bare: dict[str, str], configure: Callable[..., None], wrong: str, tmp_path: Path
) -> None:
    configure(f"lib={library().parent}", wrong)
    output = run(bare, ["srun", "-n", "2", "--stretto", *SHOW], tmp_path)
    line = f"stretto: plugstack.conf: {wrong}: expected lib=/FOLDER or default=on"
    assert output.count(line) == 1
    assert in_brackets(output) == [with_it()] * 2


def test_a_library_that_is_not_there(
    slurm: dict[str, str],
    configure: Callable[..., None],
    abi: str,
    program: Path,
    tmp_path: Path,
) -> None:
    """The job runs without Stretto, and one task says so."""
    configure("lib=/nowhere")
    launcher = ["srun", f"--mpi={PMI[abi]}", "-n", "2", "--stretto"]
    output = run(slurm, [*launcher, *SET, program], tmp_path)
    assert "right" in output
    assert SERVED not in output
    line = "stretto: /nowhere/libstretto.so: No such file or directory; the tasks run without Stretto\n"
    assert output.count(line) == 1
    assert output.count("stretto") == line.count("stretto")


@pytest.mark.parametrize("pmi", ["none", *PMI.values()])
def test_ranks_of_pytorch(slurm: dict[str, str], cache: dict[str, str], tmp_path: Path, pmi: str) -> None:
    """Each task sets its rank from Slurm's variables, whatever else srun sets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(listener.getsockname()[1])}
    place = "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID"
    ranks = [STRETTO, "exec", "--replace", "gloo", "sh", "-c", f'{place} exec "$@"', "sh"]
    program = [*PYTHON, str(Path(__file__).with_name("torch_in_place_of_gloo.py"))]
    output = run(
        {**slurm, **cache, **meeting}, ["srun", f"--mpi={pmi}", "-n", "2", *ranks, *program], tmp_path
    )
    assert output.count("right") == 2
