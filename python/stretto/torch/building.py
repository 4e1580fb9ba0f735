# SPDX-License-Identifier: Apache-2.0
"""The C++ part of the backend: the wheel's, or one that is built for the user's PyTorch at its first use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.support.files import beside, cache_folder, leftovers, locked
from stretto.support.heartbeat import lines_now_and_then
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


def place_of_extension() -> Path:
    """Returns where the extension for this PyTorch and Python is, or will be once it is built.

    All environments with the same versions share it. So it has no path of PyTorch's libraries, which are
    loaded before it.
    """
    key = command.fingerprint(torch.__version__, [*command.compiler(), *command.options()])
    return cache_folder() / "torch" / f"stretto_torch_{key}{command.SUFFIX}"


def built_extension(reason: str = "") -> Path:
    """Returns the path of the extension for this PyTorch and Python, which is built if it is missing.

    One process of a node builds it, and the others wait. `reason`: why the wheel's extension is not used.
    """
    module = place_of_extension()
    if module.is_file():
        return module
    folder = module.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "lock"):  # one for all builds: those that are killed leave none of their own
            if not module.is_file():
                for unfinished in leftovers(module):
                    unfinished.unlink()
                _build([*command.compiler(), *command.options(), *command.places()], module, reason)
    except OSError as error:
        raise StrettoError(
            f"the extension for PyTorch could not be written to {folder} ({error.strerror}); name another "
            "folder by STRETTO_CACHE"
        ) from None
    return module


def build_for_wheel(folder: Path) -> Path:
    """Build the extension for a wheel, without paths of this machine in it, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / prebuilt_name()
    installed = [command.PYTORCH.parent, command.SOURCES.parents[2]]
    line = [*command.compiler(), *command.options(), *(f"-ffile-prefix-map={one}/=" for one in installed)]
    _build([*line, *command.places()], module)
    return module


def _build(line: Sequence[str], module: Path, reason: str = "") -> None:
    said = f"building the extension for PyTorch {torch.__version__}, once{reason and f', since {reason}'}"
    print(f"stretto: {said}", file=sys.stderr, flush=True)
    made = beside(module)
    # All sources are compiled as one file, since torch's headers take most of the time to compile.
    parts = "".join(f'#include "{source.name}"\n' for source in sorted(command.SOURCES.glob("*.cpp")))
    # Objects that are preloaded into ranks must not be preloaded into the compiler.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        with lines_now_and_then(lambda: "building the extension for PyTorch"):
            ended = subprocess.run(
                [*line, f"-DSTRETTO_TORCH_MODULE={command.module_name(module)}", "-o", str(made)],
                input=parts,
                capture_output=True,
                text=True,
                errors="replace",
                env=environment,
            )
        if ended.returncode != 0:
            lines = [text for text in ended.stderr.splitlines() if "error" in text]
            raise StrettoError(
                f"the extension for PyTorch {torch.__version__} could not be built by {line[0]}: "
                f"{lines[0].strip() if lines else f'exit status {ended.returncode}'}; "
                "`python -m stretto.torch` builds it again, and CXX names another compiler"
            )
        if not any(name in made.read_bytes() for name in (b"libstdc++.so", b"libc++.so")):
            raise StrettoError(
                "the extension for PyTorch would have a C++ library of its own beside PyTorch's, since "
                f"{line[0]} links it statically; name another compiler by CXX"
            )
        made.replace(module)
    except FileNotFoundError:
        raise StrettoError(
            f"the extension for PyTorch {torch.__version__} needs the C++ compiler {line[0]}, which is not "
            f"in PATH; install it (Debian, Ubuntu: g++ and python3-dev), name another by CXX{_or_release()}"
        ) from None
    finally:
        made.unlink(missing_ok=True)


def _or_release() -> str:
    """Returns another remedy as text: a release of PyTorch that needs no compiler, if there is one."""
    own = torch.__version__.partition("+")[0]
    releases = sorted({*map(paths.prebuilt_release, paths.prebuilt_extensions())} - {own})
    if not releases:
        return ""
    return f", or take PyTorch {' or '.join(releases)}, for which the wheel has the extension"
