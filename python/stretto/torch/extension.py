# SPDX-License-Identifier: Apache-2.0
"""Loads the C++ part of the backend, once."""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.torch.building import built_extension
from stretto.torch.command import module_name
from stretto.torch.prebuilt import prebuilt_extension


@functools.cache
def load_extension() -> ModuleType:
    """Returns the wheel's extension, or builds one. It has Stretto's library only after load_library()."""
    prebuilt = prebuilt_extension()
    if prebuilt is None:
        return _load(built_extension())
    try:
        return _load(prebuilt)
    except ImportError as error:
        # PyTorch may have been built by someone else, or need a newer C++ library than this machine has.
        return _load(built_extension(f"the wheel's cannot be loaded ({error})"))


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module_name(path), path)
    if spec is None or spec.loader is None:
        raise StrettoError(f"{path} is not an extension module; remove it, and it is built again")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def load_library() -> None:
    """Load Stretto's library, unless it is preloaded. With MPI, the MPI library must already be loaded."""
    if not load_extension().load(0):
        load_extension().load(ctypes.CDLL(str(paths.library()))._handle)


@functools.cache
def stop_at_exit() -> None:
    """Let the backend stop when the process ends, before mpi4py's own exit handler if mpi4py began MPI."""
    # Forked children inherit the handler.
    process = os.getpid()
    # When exit handlers run, futures can still call Python functions.
    atexit.register(lambda: _stop(load_extension()) if os.getpid() == process else None)


def _stop(extension: ModuleType) -> None:
    """Stop the backend. After an exception, do not wait for other ranks, which may wait for this one."""
    error = getattr(sys, "last_value", None)
    if error is None or hasattr(sys, "ps1"):  # at a prompt, the last error says nothing about the end
        extension.stop(error is None, "")
    else:
        extension.stop(False, f"{type(error).__name__}: {error}".splitlines()[0])
