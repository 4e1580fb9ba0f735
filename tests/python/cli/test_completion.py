# SPDX-License-Identifier: Apache-2.0
"""Shells complete the words of `stretto`."""

from __future__ import annotations

import os
import subprocess

import pytest

from stretto.support.paths import find_command


def complete(words: str) -> list[str]:
    command = find_command()
    assert command is not None
    ran = subprocess.run(
        [command],
        env=os.environ
        | {"_STRETTO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [("stretto do", ["doctor"]), ("stretto ex", ["exec", "export", "explain"]), ("stretto run --st", None)],
)
def test_words_are_completed(words: str, expected: list[str] | None) -> None:
    assert sorted(complete(words)) == sorted(expected or ["--stats", "--strict"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("stretto run --mpi mp", ["mpich", "mpich5"]),
        ("stretto bench allg", ["allgather", "allgatherv"]),
        ("stretto bench allreduce --specs native,rab", ["native,rabenseifner"]),
        ("stretto run --spec bcast/bin", ["bcast/binomial", "bcast/binary_tree"]),
    ],
)
def test_values_are_completed(words: str, expected: list[str]) -> None:
    assert set(complete(words)) >= {expected[0]}
    assert all(one.startswith(words.rsplit(maxsplit=1)[-1].partition(",")[0]) for one in complete(words))


def test_there_is_a_script_for_shells() -> None:
    command = find_command()
    assert command is not None
    for shell in ("bash", "zsh", "fish"):
        ran = subprocess.run([command, "--show-completion", shell], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert "_STRETTO_COMPLETE" in ran.stdout
