# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shlex

import pytest

from stretto.launch.command_lines import unwrap


@pytest.mark.parametrize(
    "before",
    [
        "",
        "env",
        "env A=1 B=",
        "/usr/bin/env -u X --unset Y --chdir=/ -C / A=1",
        "env - A=1",
        "env -i -- A=1",
        "timeout 60",
        "timeout -s KILL --kill-after 5 --foreground 60",
        "timeout -k5 -sINT 1m",
        "nice",
        "nice -n 5",
        "nice -10",
        "nice --adjustment=3",
        "ionice -c 2 -n0 -t",
        "nohup",
        "numactl -l",
        "numactl --cpunodebind 0 -m 0 --interleave=all",
        "setsid -w",
        "stdbuf -oL -e 0",
        "taskset 0x3",
        "taskset -c 0,1",
        "time -f %e -o times -v",
        "nohup timeout 60 env A=1 nice numactl -C 0 --",
    ],
)
def test_the_program_behind_wrappers(before: str) -> None:
    words = shlex.split(before)
    assert unwrap([*words, "mpirun", "-np", "2", "env", "./a"], {}).at == len(words)


@pytest.mark.parametrize(
    "line",
    [
        "env",
        "env A=1",
        "env -S 'mpirun -np 2'",
        "timeout 60",
        "taskset -cp 0 17",
        "ionice -p 17",
        "bash a.sh",
    ],
)
def test_what_starts_no_program_that_is_named(line: str) -> None:
    assert unwrap(shlex.split(line), {}).at == 0


@pytest.mark.parametrize(
    ("line", "environment"),
    [
        ("env A=2 mpirun", {"A": "2", "B": "1"}),
        ("env -u B C=a=b mpirun", {"A": "1", "C": "a=b"}),
        ("env -i C=3 mpirun", {"C": "3"}),
        ("env - C=3 mpirun", {"C": "3"}),
        ("env --ignore-environment mpirun", {}),
        ("env C=1 timeout 60 env -u C mpirun C=5", {"A": "1", "B": "1"}),
    ],
)
def test_the_environment_of_that_program(line: str, environment: dict[str, str]) -> None:
    assert unwrap(line.split(), {"A": "1", "B": "1"}).environment == environment
