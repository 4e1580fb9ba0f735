# SPDX-License-Identifier: Apache-2.0
"""Makes groups of the backend "stretto" where a program asks for "gloo" (STRETTO_REPLACE=gloo).

All names remain gloo's, since programs and PyTorch itself compare them. Only the table changes in which
PyTorch looks up the function that makes a group for a kind of device. Code that names gloo's class, such as
PyTorch's RPC, gets gloo.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping, MutableMapping
from datetime import timedelta
from typing import Any

import torch.distributed

from stretto.autoload.entry import NAME, REPLACE, groups, has_backend, is_group
from stretto.launch.environment import read_choice, say_as_rank_0

# The transports of gloo that carry messages as they are.
_PLAIN = ("", "TCP", "LINUX", "UV")
_IN_PLACE = "STRETTO IN PLACE OF GLOO"


def replace(environment: MutableMapping[str, str]) -> None:
    """Replace the backend that STRETTO_REPLACE names."""
    if read_choice(REPLACE, ("", "gloo"), environment) != "gloo":
        del environment[REPLACE]  # so that programs that this one starts do not complain again
        return
    its: Any = torch.distributed.distributed_c10d
    if not its.is_gloo_available():
        return
    its.Backend._plugins[_IN_PLACE] = its.Backend._BackendPlugin(
        lambda options, _: groups().create(options, its.ProcessGroupGloo), True
    )
    config = its.BackendConfig
    config.get_device_backend_map = _replaced(config.get_device_backend_map)
    its._new_process_group_helper = _with_gloo(its._new_process_group_helper, its)
    for derive in ("split_group", "merge_remote_group"):  # of versions of PyTorch that have them
        if hasattr(its.ProcessGroup, derive):
            setattr(its.ProcessGroup, derive, _derived(getattr(its.ProcessGroup, derive), its))
    its._set_pg_timeout = _for_ours(its._set_pg_timeout)


def _replaced(get_map: Any) -> Any:
    """Returns PyTorch's function that maps devices to backends, with Stretto in place of gloo."""

    @functools.wraps(get_map)
    def tell(config: Any) -> dict[str, str]:
        backends: dict[str, str] = get_map(config)
        if "gloo" not in backends.values() or not _is_replaceable(os.environ):
            return backends
        return {device: _IN_PLACE if one == "gloo" else one for device, one in backends.items()}

    return tell


def _is_replaceable(environment: Mapping[str, str]) -> bool:
    """Whether gloo would do as Stretto does: a transport with encryption, or any other, is kept."""
    transport = environment.get("GLOO_DEVICE_TRANSPORT", "")
    if transport in _PLAIN:
        return True
    say_as_rank_0(
        f"GLOO_DEVICE_TRANSPORT={transport}: Stretto has no such transport; gloo stays", environment
    )
    return False


def _with_gloo(make: Any, its: Any) -> Any:
    """Returns PyTorch's function that makes a group, changed so that the group also has a group of gloo.

    A group whose default backend is gloo needs one: PyTorch's own C++ code, such as the logger of
    DistributedDataParallel, casts it to gloo's class. It makes no call on that group.
    """
    signature = inspect.signature(make)

    @functools.wraps(make)
    def make_with_gloo(*given: Any, **named: Any) -> Any:
        made = make(*given, **named)
        group = made[0]
        if not is_group(group, its) or not has_backend(group, NAME):
            return made
        asked = str(signature.bind(*given, **named).arguments["backend"])
        if group._get_backend_name() == "undefined" and "gloo" in asked:
            group._set_default_backend(its.ProcessGroup.BackendType.GLOO)
        _add_gloo(group, its)
        return made

    return make_with_gloo


def _derived(derive: Any, its: Any) -> Any:
    """Returns a method that makes a group of another one, changed as above."""

    @functools.wraps(derive)
    def derive_with_gloo(*given: Any, **named: Any) -> Any:
        made = derive(*given, **named)
        if made is not None:
            _add_gloo(made, its)
        return made

    return derive_with_gloo


def _add_gloo(group: Any, its: Any) -> None:
    types = its.ProcessGroup.BackendType
    if group._get_backend_name() != "gloo":
        return
    ours = [one for one in group._device_types if group._get_backend(one).name() == NAME]
    for device in ours:
        backend = group._get_backend(device)
        group._register_backend(device, types.GLOO, _gloo_alone())
        group._register_backend(device, types.CUSTOM, backend)


@functools.cache
def _gloo_alone() -> Any:
    """Returns a group of this process alone. It needs no address of this host, which may have no name."""
    its: Any = torch.distributed
    gloo = its.ProcessGroupGloo
    options = gloo._Options()
    options._devices = [gloo.create_device(hostname="127.0.0.1")]
    options._threads = 1
    return gloo(its.HashStore(), 0, 1, options)


def _for_ours(set_timeout: Any) -> Any:
    """Returns PyTorch's function that sets the timeout of groups, changed to support Stretto's groups."""

    @functools.wraps(set_timeout)
    def set_timeout_of_any(timeout: timedelta, group: Any = None) -> None:
        whole: Any = torch.distributed.group.WORLD if group is None else group
        if has_backend(whole, NAME):
            whole.set_timeout(timeout)
        else:
            set_timeout(timeout, group)

    return set_timeout_of_any
