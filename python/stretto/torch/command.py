# SPDX-License-Identifier: Apache-2.0
"""The command that compiles the extension: the compiler, options that affect the result, and places."""

from __future__ import annotations

import hashlib
import os
import shlex
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import torch
from stretto.support import paths

SOURCES = Path(__file__).parent / "source"
PYTORCH = Path(torch.__file__).parent
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))


def compiler() -> list[str]:
    """Returns the compiler's name, with the options that the user gives."""
    return shlex.split(os.environ.get("CXX") or "g++")


def options() -> list[str]:
    """Returns the options that affect the result of the compilation. They are the same on every machine."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    macros = {
        f"PYBIND11_{name}": f'"{value}"'
        for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")
        if (value := getattr(torch._C, f"_PYBIND11_{name}", None)) is not None
    }
    macros["_GLIBCXX_USE_CXX11_ABI"] = str(int(torch._C._GLIBCXX_USE_CXX11_ABI))
    return [
        f"-std=c++{20 if version >= (2, 5) else 17}",
        "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
        *(f"-D{name}={value}" for name, value in macros.items()),
    ]  # fmt: skip


def places() -> list[str]:
    """Returns options with the places of headers and libraries on this machine."""
    headers = PYTORCH / "include"
    if not headers.is_dir():
        headers = Path("/usr/include")  # Debian's python3-torch
    return [
        f"-I{SOURCES}",
        f"-I{_include_folder()}",
        "-isystem", str(headers),
        "-isystem", str(headers / "torch/csrc/api/include"),
        "-isystem", sysconfig.get_paths()["include"],
        "-x", "c++", "-",
        f"-L{PYTORCH / 'lib'}",
        "-ltorch_python", "-ltorch_cpu", "-ltorch", "-lc10",
    ]  # fmt: skip


def fingerprint(release: str, command: Sequence[str]) -> str:
    """Returns a hash by which extensions differ: of PyTorch's release, the command, and the sources."""
    digest = hashlib.sha256(repr((list(command), release, torch.version.git_version)).encode())
    header = _include_folder() / "stretto" / "group.h"
    for source in [*sorted(SOURCES.iterdir()), header]:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def module_name(module: Path) -> str:
    """Returns the name by which Python loads this file."""
    return module.name.split(".")[0]


def _include_folder() -> Path:
    """Returns the folder with stretto/group.h."""
    return Path(paths.compile_flags()[0].removeprefix("-I"))
