# SPDX-License-Identifier: Apache-2.0
"""Programs that continue after a rank has failed (Open MPI 5, --with-ft ulfm)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stretto.launch import mpi
from stretto.support.paths import library

SOURCE = Path(__file__).parents[2] / "interpose" / "revoked.c"
RANKS = 4
SECONDS = 60


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = mpi.find_install("openmpi5").launcher.prefix
    out = tmp_path_factory.mktemp("revoked") / "revoked"
    argv = ["gcc", f"-I{prefix}/include", str(SOURCE), "-o", str(out), f"-L{prefix}/lib", "-lmpi"]
    argv += [f"-Wl,-rpath-link,{prefix}/lib"]
    subprocess.run(argv, check=True, capture_output=True)
    return out


@pytest.mark.parametrize("nodes", [RANKS, 1])  # on one node, through shared memory
@pytest.mark.parametrize("what", ["death", "leave"])
@pytest.mark.parametrize("spec", ["ring", "recursive_doubling"])
def test_what_is_left_goes_on(program: Path, spec: str, what: str, nodes: int) -> None:
    install = mpi.find_install("openmpi5")
    settings = {
        "LD_PRELOAD": str(library()),
        "STRETTO_ALLREDUCE": spec,
        "STRETTO_TOPOLOGY": f"nodes={nodes},ppn={RANKS // nodes}",
    }
    argv = [str(install.launcher.path), "--with-ft", "ulfm", "--allow-run-as-root", "--oversubscribe"]
    argv += ["--mca", "btl", "self,sm,tcp", "--mca", "btl_tcp_if_include", "lo"]
    argv += ["--mca", "mpi_yield_when_idle", "1"]
    for name, value in settings.items():
        argv += ["-x", f"{name}={value}"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
    process = subprocess.Popen(
        [*argv, "-n", str(RANKS), str(program), what],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**clean, **install.environment()},
    )
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        output, _ = process.communicate()
        pytest.fail(f"{spec}, {what}: took more than {SECONDS} s:\n{output[-4000:]}")
    right = sum(line == "right" for line in output.splitlines())
    assert right == (RANKS - 1 if what == "death" else RANKS), output
