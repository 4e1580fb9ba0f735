# SPDX-License-Identifier: Apache-2.0
"""The programs in a launcher's arguments, and the lines of `stretto run` about unsupported programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stretto.launch.command_lines import find_programs, replace_programs
from stretto.launch.run import find_rank_programs
from stretto.support.paths import find_command

STRETTO = str(find_command())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two programs, `solver` and `node`, of which PATH has the latter."""
    monkeypatch.chdir(tmp_path)
    for name in ("solver", "bin/node"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-np 4 ./solver", "./solver"),
        ("--oversubscribe ./solver -x ./solver", "./solver"),
        ("--map-by node -np 2 ./solver", "./solver"),
        ("-np 2 -wdir /tmp sh -c true", "sh"),
        ("-x A=./solver -np 2 env B=1 nice -n 3 ./solver", "./solver"),
        ("-np 2 ./solver : -np 1 node", "./solver node"),
        ("--mca plm_rsh_agent ./solver -np 2 node", "node"),
        ("-genv TOOL ./solver -launcher-exec ./solver -np 2 node", "node"),
        ("-np 2 ./nosuch", ""),
        ("", ""),
        (":", ""),
    ],
)
def test_the_programs_of_a_launcher(line: str, expected: str) -> None:
    assert find_programs(line.split(), os.environ) == expected.split()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-np 4 ./solver a b", "-np 4 check it"),
        ("-np 4 --hostfile hosts", "-np 4 --hostfile hosts check it"),
        ("--mca plm_rsh_agent ./solver -H n0,n1", "--mca plm_rsh_agent ./solver -H n0,n1 check it"),
        ("-np 1 nice ./solver a : -np 2 node b", "-np 1 check it : -np 2 check it"),
        ("", "check it"),
    ],
)
def test_another_program_in_their_place(line: str, expected: str) -> None:
    assert replace_programs(line.split(), ["check", "it"], os.environ) == expected.split()


@pytest.mark.usefixtures("folder")
def test_a_program_without_a_launcher() -> None:
    assert find_rank_programs(["env", "A=1", "./solver", "sh"], os.environ) == ["./solver"]


@pytest.mark.parametrize("launcher", ["", "mpirun.openmpi --allow-run-as-root -n 1", "mpirun.mpich -n 1"])
def test_a_static_program_is_told_of(launcher: str, tmp_path: Path) -> None:
    program = tmp_path / "static"
    code = "int main(void) { return 0; }"
    subprocess.run(["cc", "-static", "-xc", "-", "-o", program], input=code, text=True, check=True)
    line = [STRETTO, "run", "--", *launcher.split(), str(program)]
    ran = subprocess.run(line, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "")
    reason = "it is linked statically; link libstretto into it"
    assert ran.stderr == f"stretto: {program} runs without Stretto: {reason}\n"
    strict = subprocess.run([*line[:2], "--strict", *line[2:]], capture_output=True, text=True)
    assert (strict.returncode, strict.stderr.count("\n")) == (2, 1)
    assert f"{program} would run without Stretto: {reason}" in strict.stderr
