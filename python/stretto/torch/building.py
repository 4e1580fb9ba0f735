# SPDX-License-Identifier: Apache-2.0
"""The C++ part of the backend for the user's PyTorch: of the wheel, or built at its first use."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import torch
from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.support.files import beside, cache_folder, locked
from stretto.support.heartbeat import lines_now_and_then

_SOURCES = Path(__file__).parent / "source"
_PREBUILT = Path(__file__).parent / "prebuilt"
_NAME = "stretto_torch"
# GCC 12 gave this function a second version, which older C++ libraries lack. Both do the same.
_OLDER_WAIT = (
    '__asm__(".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, '
    '_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");\n'
)


def prebuilt_extension() -> Path | None:
    """The extension for this PyTorch and this Python that the wheel carries, if it does."""
    module = _PREBUILT / _file_name(_options())
    return module if module.is_file() else None


def build_into(folder: Path) -> Path:
    """Build the extension for this PyTorch and this Python as wheels carry it, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / _file_name(_options())
    _build([*_compiler(), "-s", *_options(), *_places()], module, _OLDER_WAIT)
    return module


def built_extension() -> Path:
    """The path of the extension for this PyTorch and this Python, which is built if it is missing.

    One process of a node builds it, and the others wait.
    """
    command = [*_compiler(), *_options(), *_places()]
    folder = cache_folder() / "torch"
    module = folder / _file_name(command)
    if module.is_file():
        return module
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f"{module.name}.lock"):
            if not module.is_file():
                _build(command, module)
    except OSError as error:
        raise StrettoError(
            f"the extension for PyTorch could not be written to {folder} ({error.strerror}); name another "
            "folder by STRETTO_CACHE"
        ) from None
    return module


def _build(command: list[str], module: Path, prologue: str = "") -> None:
    print(
        f"stretto: building the extension for PyTorch {torch.__version__}, once", file=sys.stderr, flush=True
    )
    made = beside(module)
    # There is one source file, since torch's headers take most of the time.
    parts = "".join(f'#include "{source.name}"\n' for source in sorted(_SOURCES.glob("*.cpp")))
    # The compiler must not get what is preloaded into ranks.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        with lines_now_and_then(lambda: "building the extension for PyTorch"):
            ended = subprocess.run(
                [*command, f"-DSTRETTO_TORCH_MODULE={module_name(module)}", "-o", str(made)],
                input=prologue + parts,
                capture_output=True,
                text=True,
                errors="replace",
                env=environment,
            )
        if ended.returncode != 0:
            lines = [line for line in ended.stderr.splitlines() if "error" in line]
            raise StrettoError(
                f"the extension for PyTorch {torch.__version__} could not be built by {command[0]}: "
                f"{lines[0].strip() if lines else f'exit status {ended.returncode}'}; "
                "`python -m stretto.torch` builds it again, and CXX names another compiler"
            )
        if not any(name in made.read_bytes() for name in (b"libstdc++.so", b"libc++.so")):
            raise StrettoError(
                "the extension for PyTorch would have a C++ library of its own beside PyTorch's, since "
                f"{command[0]} links it statically; name another compiler by CXX"
            )
        made.replace(module)
    except FileNotFoundError:
        raise StrettoError(
            f"the extension for PyTorch needs the C++ compiler {command[0]}, which is not in PATH; install "
            "it (Debian, Ubuntu: g++ and python3-dev), or name another by CXX"
        ) from None
    finally:
        made.unlink(missing_ok=True)


def module_name(module: Path) -> str:
    """The name by which Python imports the module of this file."""
    return module.name.split(".")[0]


def _file_name(command: list[str]) -> str:
    """The name of the module that this command makes of the sources, for this PyTorch and this Python."""
    release = torch.__version__.partition("+")[0]  # builds for a GPU have the same interface
    digest = hashlib.sha256(repr((command, release, torch.version.git_version)).encode())
    header = _include_folder() / "stretto" / "group.h"
    for source in [*sorted(_SOURCES.iterdir()), header]:
        digest.update(source.read_bytes())
    return f"{_NAME}_{digest.hexdigest()[:16]}{sysconfig.get_config_var('EXT_SUFFIX')}"


def _include_folder() -> Path:
    """The folder with stretto/group.h."""
    return Path(paths.compile_flags()[0].removeprefix("-I"))


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CXX") or "g++")


def _options() -> list[str]:
    """The options that decide what is built, the same on every machine."""
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


def _places() -> list[str]:
    """Where headers and libraries lie. PyTorch's libraries have been loaded before the extension is."""
    package = Path(torch.__file__).parent
    headers = package / "include"
    if not headers.is_dir():
        headers = Path("/usr/include")  # Debian's python3-torch
    return [
        f"-I{_SOURCES}",
        f"-I{_include_folder()}",
        "-isystem", str(headers),
        "-isystem", str(headers / "torch/csrc/api/include"),
        "-isystem", sysconfig.get_paths()["include"],
        f"-ffile-prefix-map={package.parent}/=",
        "-x", "c++", "-",
        f"-L{package / 'lib'}",
        "-ltorch_python", "-ltorch_cpu", "-ltorch", "-lc10",
    ]  # fmt: skip
