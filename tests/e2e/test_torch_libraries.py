# SPDX-License-Identifier: Apache-2.0
"""Libraries above torch.distributed train with Stretto, in place of gloo or by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from stretto.support.paths import find_command

PROGRAM = str(Path(__file__).with_name("torch_libraries.py"))
REPLACING = [str(find_command()), "run", "--replace", "gloo", "--"]
SETTINGS = {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
SETTINGS |= {"DS_ACCELERATOR": "cpu", "RAY_USAGE_STATS_ENABLED": "0"}


@pytest.mark.parametrize(
    ("library", "backend"),
    [
        ("accelerate", "gloo"),
        ("deepspeed", "gloo"),
        ("deepspeed", "stretto"),
        ("ray", "gloo"),
        ("ray", "stretto"),
    ],
)
def test_a_training_is_right(
    run_program: Callable[[Sequence[str], dict[str, str], float], str],
    cache: dict[str, str],
    torch_libraries: Path,
    library: str,
    backend: str,
) -> None:
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    line = [str(torch_libraries), *([] if library == "ray" else torchrun), PROGRAM, library, backend]
    output = run_program([*(REPLACING if backend == "gloo" else []), *line], {**cache, **SETTINGS}, 280)
    assert output.count("right") == (1 if library == "ray" else 2)
