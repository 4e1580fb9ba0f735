# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto config`."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto.support import paths


def config(
    cmake_dir: Annotated[
        bool, typer.Option("--cmake-dir", help="The folder for CMake's Stretto_DIR.")
    ] = False,
    pkgconfig_dir: Annotated[
        bool, typer.Option("--pkgconfig-dir", help="The folder for PKG_CONFIG_PATH.")
    ] = False,
    cflags: Annotated[bool, typer.Option("--cflags", help="The compiler's options.")] = False,
    libs: Annotated[
        bool, typer.Option("--libs", help="The linker's options, which go before the MPI library.")
    ] = False,
) -> None:
    """Print how to link: mpicc app.c $(stretto config --cflags --libs)."""
    print(*paths.build_words(cmake=cmake_dir, pkgconfig=pkgconfig_dir, compiler=cflags, linker=libs))
