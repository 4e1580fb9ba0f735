# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto lib`."""

from __future__ import annotations

from stretto.support import paths


def lib() -> None:
    """Print the path of the shared object to preload."""
    print(paths.library())
