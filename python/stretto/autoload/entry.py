# SPDX-License-Identifier: Apache-2.0
"""The entry point in the group `torch.backends`, which PyTorch calls at the end of `import torch`.

Every program that imports torch runs this, so it must be quick, and change nothing for other backends.
"""

from __future__ import annotations

import importlib
import inspect
import os
from contextlib import suppress
from typing import Any

NAME = "stretto"
REPLACE = "STRETTO_REPLACE"


class _Plugins(dict[str, Any]):
    """PyTorch's table of backends that are not its own, which finds this one, but does not list it.

    If it were listed, a group "cpu:gloo" would have no default backend, and PyTorch would warn of that.
    """

    def keys(self) -> Any:
        return {name: None for name in self if not name.startswith(NAME.upper())}.keys()


def register() -> None:
    """Register the backend, unless it is registered, or PyTorch was built without torch.distributed."""
    import torch.distributed as dist  # noqa: PLC0415  PyTorch has loaded it by now

    if not dist.is_available() or hasattr(dist.Backend, NAME.upper()):
        return
    known = inspect.signature(dist.Backend.register_backend).parameters
    wanted = {"extended_api": True, "devices": ["cpu", "cuda"]}
    options: dict[str, Any] = {name: value for name, value in wanted.items() if name in known}
    create = _create if "extended_api" in known else _create_of_old
    dist.Backend.register_backend(NAME, create, **options)
    with suppress(AttributeError):  # versions without such a table
        dist.Backend._plugins = _Plugins(dist.Backend._plugins)
    if os.environ.get(REPLACE):
        importlib.import_module("stretto.autoload.replacing").replace(os.environ)


def _create(options: Any, _backend_options: Any = None) -> Any:
    return groups().create(options)


def _create_of_old(store: Any, rank: int, size: int, timeout: Any) -> Any:
    return groups().create_of_old(store, rank, size, timeout)


def groups() -> Any:
    """The module that makes groups, loaded when the first one is made. Its room is above this one."""
    return importlib.import_module("stretto.torch.groups")
