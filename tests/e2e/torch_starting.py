# SPDX-License-Identifier: Apache-2.0
"""How users build the extension for PyTorch ahead of time, and start ranks without MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence

# Warnings of the libraries themselves do not matter here.
PYTHON = [sys.executable, "-W", "ignore"]


def build(settings: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What `python -m stretto.torch` says, without a launcher."""
    environment = {**os.environ, **settings}
    return subprocess.run([*PYTHON, "-m", "stretto.torch"], env=environment, capture_output=True, text=True)


def torchrun(ranks: int, program: Sequence[str], *options: str) -> list[str]:
    """The command line of torchrun. `program`: a program of Python and its arguments, or another program."""
    found = shutil.which("torchrun", path=sysconfig.get_path("scripts"))
    assert found is not None
    other = [] if program[0].endswith(".py") else ["--no-python"]
    return [found, "--nproc-per-node", str(ranks), *options, *other, *program]
