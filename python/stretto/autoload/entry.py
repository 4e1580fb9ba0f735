# SPDX-License-Identifier: Apache-2.0
"""The entry point in the group `torch.backends`, which PyTorch calls at the end of `import torch`.

Every program that imports torch runs this. So it must be quick, and must change nothing for other backends.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from typing import Any

NAME = "stretto"
REPLACE = "STRETTO_REPLACE"

is_for_group = False
"""Whether the backend is loaded for a group, which says by itself what its job is."""


def register() -> None:
    """Register the backend, unless it is registered or PyTorch was built without torch.distributed."""
    import torch.distributed as dist  # noqa: PLC0415  PyTorch has loaded it by now

    if not dist.is_available() or hasattr(dist.Backend, NAME.upper()):
        return
    known = inspect.signature(dist.Backend.register_backend).parameters
    wanted = {"extended_api": True, "devices": ["cpu", "cuda"]}
    options: dict[str, Any] = {name: value for name, value in wanted.items() if name in known}
    create = _create if "extended_api" in known else _create_of_old
    dist.Backend.register_backend(NAME, create, **options)
    its: Any = dist.distributed_c10d
    if hasattr(its, "_new_process_group_helper"):
        its._new_process_group_helper = _with_default(its._new_process_group_helper, its)
    if os.environ.get(REPLACE):
        importlib.import_module("stretto.autoload.replacing").replace(os.environ)


def _create(options: Any, _backend_options: Any = None) -> Any:
    return groups().create(options)


def _create_of_old(store: Any, rank: int, size: int, timeout: Any) -> Any:
    return groups().create_of_old(store, rank, size, timeout)


def groups() -> Any:
    """Returns the module that makes groups, which the first group loads. Its room is above this one."""
    global is_for_group  # noqa: PLW0603
    is_for_group = True
    return importlib.import_module("stretto.torch.groups")


def _with_default(make: Any, its: Any) -> Any:
    """Returns PyTorch's function that makes a group, with a change to the group's default backend.

    A group "cpu:gloo" has gloo as its default backend, unless a backend that is not PyTorch's own is
    registered. Then PyTorch warns that there is no default, whether that backend is used or not.
    """

    @functools.wraps(make)
    def make_with_default(*given: Any, **named: Any) -> Any:
        made = make(*given, **named)
        group = made[0]
        if is_group(group, its) and group._get_backend_name() == "undefined" and has_backend(group, "gloo"):
            group._set_default_backend(its.ProcessGroup.BackendType.GLOO)
        return made

    return make_with_default


def is_group(one: Any, its: Any) -> bool:
    """Whether an object is a group of this process, and of PyTorch's own class."""
    return type(one) is its.ProcessGroup


def has_backend(group: Any, name: str) -> bool:
    """Whether the backend of this name carries out the group's calls on any of its devices."""
    return any(group._get_backend(device).name() == name for device in group._device_types)
