# SPDX-License-Identifier: Apache-2.0
"""Builds the extension for PyTorch, as users do ahead of time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

# What the libraries themselves warn of is not ours.
PYTHON = [sys.executable, "-W", "ignore"]


def build(settings: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What `python -m stretto.torch` says, without a launcher."""
    environment = {**os.environ, **settings}
    return subprocess.run([*PYTHON, "-m", "stretto.torch"], env=environment, capture_output=True, text=True)
