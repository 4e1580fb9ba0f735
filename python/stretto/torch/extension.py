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
from types import ModuleType, TracebackType

from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.torch.building import built_extension, prebuilt_extension
from stretto.torch.command import module_name


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
    """Let the backend end with the process. To be called when the job has begun.

    Exit handlers of Python that are older still make calls: only the completing threads stop here, since
    futures can call no Python function later. A job without MPI ends when Python has ended.
    """
    extension = load_extension()
    extension.end_with_process()
    hook = sys.excepthook

    def note_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        extension.note_exception(f"{kind.__name__}: {error}".splitlines()[0])
        hook(kind, error, trace)

    if not hasattr(sys, "ps1"):  # at a prompt, the process goes on
        sys.excepthook = note_exception
    # Forked children inherit the handler.
    process = os.getpid()
    atexit.register(lambda: extension.stop() if os.getpid() == process else None)
