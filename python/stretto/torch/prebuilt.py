# SPDX-License-Identifier: Apache-2.0
"""The extension that a wheel of Stretto carries, for one release of PyTorch."""

from __future__ import annotations

from pathlib import Path

import torch
from stretto.support import paths
from stretto.torch import command


def prebuilt_extension() -> Path | None:
    """Returns the wheel's extension for this PyTorch and this Python; None if the wheel has none."""
    name = prebuilt_name()
    return next((file for file in paths.prebuilt_extensions() if file.name == name), None)


def prebuilt_name() -> str:
    """Returns the file's name, which is the same on every machine with this PyTorch and this Python."""
    # PyTorch's builds for CPUs and for GPUs share a C++ interface: 2.13.0+cpu, 2.13.0+cu130, 2.13.0.
    release = torch.__version__.partition("+")[0]
    key = command.fingerprint(release, command.options())
    return f"{paths.prebuilt_prefix(release)}{key}{command.SUFFIX}"
