# SPDX-License-Identifier: Apache-2.0
"""`stretto exec` behind srun, in a Slurm of this machine alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.e2e.torch_starting import PYTHON

from stretto.doctor.lines import Place, lines_for
from stretto.support.paths import find_command

ROOT = Path(__file__).parents[2]
STRETTO = str(find_command())
SERVED = "by Stretto and 0 by"
FORCED = ["--spec=ring", "--spec=bcast/chain", "--spec=reduce/chain", "--spec=allgather/ring", "--summary"]
FORCED += ["--set=STRETTO_PROGRESS_THREAD=1"]
PMI = {"openmpi": "pmix", "mpich": "pmi2"}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of its commands."""
    assert shutil.which("slurmctld"), "there is no Slurm: apt-get install slurm-wlm munge"
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


def run(slurm: dict[str, str], words: Sequence[str | Path], cwd: Path) -> str:
    ran = subprocess.run(
        list(map(str, words)),
        env=slurm,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


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
    options = "--allow-run-as-root --oversubscribe" if abi == "openmpi" else ""
    script = tmp_path / "job.sh"
    script.write_text(
        f"#!/bin/sh\nsrun --mpi={PMI[abi]} --export=NONE {words} &&\nmpirun.{abi} {options} -n 2 {words}\n"
    )
    output = tmp_path / "output"
    run(slurm, ["sbatch", "--wait", "-n", "2", "-o", output, script], tmp_path)
    assert output.read_text().splitlines().count("right") == 2
    assert output.read_text().count(SERVED) == 2


def test_a_task_prolog(slurm: dict[str, str], abi: str, program: Path, tmp_path: Path) -> None:
    """The program stays as it is: what `stretto doctor --lines slurm` prints puts Stretto under it."""
    [script] = [group.lines for group in lines_for(Place.SLURM) if group.lines[0] == "#!/bin/sh"]
    prolog = tmp_path / "prolog"
    prolog.write_text("\n".join(script) + "\n")
    prolog.chmod(0o755)
    launcher = ["srun", f"--mpi={PMI[abi]}", f"--task-prolog={prolog}", "-n", "2", str(program)]
    forced = {"STRETTO_SUMMARY": "1", "STRETTO_PROGRESS_THREAD": "1", "STRETTO_ALLREDUCE": "ring"}
    forced |= {"STRETTO_BCAST": "chain", "STRETTO_REDUCE": "chain", "STRETTO_ALLGATHER": "ring"}
    assert run({**slurm, **forced}, launcher, tmp_path).count(SERVED) == 1
    output = run({**slurm, **forced, "STRETTO_DISABLE": "1"}, launcher, tmp_path)
    assert "right" in output
    assert SERVED not in output


@pytest.mark.parametrize("pmi", ["none", *PMI.values()])
def test_ranks_of_pytorch(slurm: dict[str, str], cache: dict[str, str], tmp_path: Path, pmi: str) -> None:
    """Each task says by itself which rank it is, whatever else srun tells it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(listener.getsockname()[1])}
    place = "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID"
    ranks = [STRETTO, "exec", "--replace", "gloo", "sh", "-c", f'{place} exec "$@"', "sh"]
    program = [*PYTHON, str(Path(__file__).with_name("torch_in_place_of_gloo.py"))]
    output = run(
        {**slurm, **cache, **meeting}, ["srun", f"--mpi={pmi}", "-n", "2", *ranks, *program], tmp_path
    )
    assert output.count("right") == 2
