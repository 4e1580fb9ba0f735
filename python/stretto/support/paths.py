# SPDX-License-Identifier: Apache-2.0
"""Finds the shared objects of the installed package, and the flags to build with them."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import stretto
from stretto.support.errors import StrettoError


def library_folders() -> list[Path]:
    """The folders that may hold the shared objects. STRETTO_LIB_DIR names the folder of another build."""
    chosen = os.environ.get("STRETTO_LIB_DIR")
    if chosen:
        return [Path(chosen)]
    # An editable install spreads the package over two folders; __path__ names both.
    return [Path(folder) / "lib" for folder in stretto.__path__]


def _find(name: str) -> Path | None:
    for folder in library_folders():
        if (folder / name).is_file():
            return (folder / name).absolute()
    return None


def find_library() -> Path | None:
    """The shared object to preload, or None if this installation has none."""
    return _find("libstretto.so")


def _require(name: str) -> Path:
    found = _find(name)
    if found is None:
        raise StrettoError(
            f"{library_folders()[0] / name} does not exist: Stretto was built without any MPI; install an "
            f"mpicc and install Stretto again, or set STRETTO_LIB_DIR to the folder that has it"
        )
    return found


def library() -> Path:
    """The shared object to preload, for every MPI. Raises StrettoError if there is none."""
    return _require("libstretto.so")


def find_command() -> Path | None:
    """The program `stretto` of this installation, or None if it is not found."""
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    folders = [Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes]
    # The command has become this process, wherever it was installed.
    if Path(sys.argv[0]).name == "stretto-tool":
        folders.insert(0, Path(sys.argv[0]).absolute().parent)
    return next((folder / "stretto" for folder in folders if (folder / "stretto").is_file()), None)


def command() -> Path:
    """The program `stretto` of this installation. Raises StrettoError if there is none."""
    found = find_command()
    if found is None:
        raise StrettoError("the program stretto was not found; install Stretto again")
    return found


def bench_program() -> Path:
    """The measuring program, whose first argument is the binary interface. Raises StrettoError if missing."""
    return _require("stretto-bench")


def find_simulate_program() -> Path | None:
    """The measuring program in virtual time, or None if Stretto was built without SimGrid."""
    return _find("stretto-simulate.so")


def simulate_program() -> Path:
    """The measuring program in virtual time. Raises StrettoError if there is none."""
    found = find_simulate_program()
    if found is None:
        raise StrettoError(
            f"{library_folders()[0] / 'stretto-simulate.so'} does not exist: Stretto was built without "
            "SimGrid; install it (Debian, Ubuntu: libsimgrid-dev) and Stretto again"
        )
    return found


def _package_folder(name: str) -> Path:
    """A folder of the installed package. Raises StrettoError if it is missing."""
    for folder in stretto.__path__:
        if (Path(folder) / name).is_dir():
            return (Path(folder) / name).absolute()
    raise StrettoError(
        f"{Path(stretto.__path__[0]) / name} does not exist: Stretto was built without any MPI; install an "
        f"mpicc and install Stretto again"
    )


def prebuilt_extensions() -> list[Path]:
    """The PyTorch extensions for this Python that the wheel carries."""
    pattern = f"torch/prebuilt/{prebuilt_prefix('*')}*{sysconfig.get_config_var('EXT_SUFFIX')}"
    return sorted(file.absolute() for folder in stretto.__path__ for file in Path(folder).glob(pattern))


def prebuilt_prefix(release: str) -> str:
    """The beginning of the name of an extension for this release of PyTorch."""
    return f"stretto_torch_{release.replace('.', '_')}_"


def prebuilt_release(extension: Path) -> str:
    """The release of PyTorch for which the wheel carries this extension."""
    return ".".join(extension.name.split(".")[0].split("_")[2:-1])


def cmake_folder() -> Path:
    """The folder for Stretto_DIR of CMake's find_package."""
    return _package_folder("lib/cmake/Stretto")


def pkgconfig_folder() -> Path:
    """The folder for PKG_CONFIG_PATH."""
    return _package_folder("lib/pkgconfig")


def slurm_plugin() -> Path:
    """The source of the plugin for Slurm."""
    return _package_folder("share") / "spank_stretto.c"


def compile_flags() -> list[str]:
    """The compiler's flags to find stretto/stretto.h."""
    return [f"-I{_package_folder('include')}"]


def link_flags() -> list[str]:
    """The linker's flags. They go before the MPI library, whose functions must come second."""
    folder = library().parent
    # As in cmake/stretto.pc.in.
    return [f"-L{folder}", "-Wl,--no-as-needed,-lstretto", f"-Wl,-rpath,{folder}"]


def build_words(*, cmake: bool, pkgconfig: bool, compiler: bool, linker: bool) -> list[str]:
    """The words that `stretto config` prints."""
    words = [
        *([str(cmake_folder())] if cmake else []),
        *([str(pkgconfig_folder())] if pkgconfig else []),
        *(compile_flags() if compiler else []),
        *(link_flags() if linker else []),
    ]
    if not words:
        raise StrettoError("config: say what to print: --cmake-dir, --pkgconfig-dir, --cflags or --libs")
    return words
