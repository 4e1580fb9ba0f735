# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto lib`."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto.support import paths


def lib(abi: Annotated[str, typer.Argument(help="|".join(paths.ABIS), metavar="ABI")]) -> None:
    """Print the path of the shared object to preload."""
    print(paths.library(abi))
