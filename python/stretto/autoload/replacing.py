# SPDX-License-Identifier: Apache-2.0
"""Makes groups of the backend "stretto" where a program asks for "gloo" (STRETTO_REPLACE=gloo).

All names stay gloo's, which programs and PyTorch itself compare. What changes is the class by which PyTorch
makes the groups that `init_process_group` and `new_group` return. Programs that name the class themselves,
as PyTorch's RPC does, get gloo.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import MutableMapping
from datetime import timedelta
from typing import Any

from stretto.autoload.entry import GROUPS, REPLACE, groups
from stretto.launch.environment import read_choice

# The group that PyTorch is making in this thread: its ranks in the job and its name.
_being_made = threading.local()


def replace(environment: MutableMapping[str, str]) -> None:
    """Replace what STRETTO_REPLACE names."""
    if read_choice(REPLACE, ("", "gloo"), environment) != "gloo":
        del environment[REPLACE]  # so that programs which this one starts do not complain again
        return
    from torch.distributed import distributed_c10d as its  # noqa: PLC0415  PyTorch has loaded it by now

    made: Any = its
    if made.is_gloo_available():
        made.ProcessGroupGloo = _stand_in(made.ProcessGroupGloo)
        made._new_process_group_helper = _noted(made._new_process_group_helper)


def _noted(make: Any) -> Any:
    """PyTorch's function that makes a group. The class does not hear of the ranks from it."""

    signature = inspect.signature(make)

    @functools.wraps(make)
    def note_and_make(*given: Any, **named: Any) -> Any:
        its = signature.bind(*given, **named).arguments
        ranks = list(its["global_ranks_in_group"]) or list(range(its["group_size"]))
        _being_made.group = (ranks, its["group_name"])
        try:
            return make(*given, **named)
        finally:
            del _being_made.group

    return note_and_make


def _stand_in(real: Any) -> Any:
    """A class whose objects are Stretto's while PyTorch makes a group, and gloo's otherwise."""

    class Kind(type):
        def __call__(cls, store: Any, rank: int, size: int, *rest: Any, **named: Any) -> Any:
            group = getattr(_being_made, "group", None)
            timeout = named.get("timeout", *rest)
            if group is None or not isinstance(timeout, timedelta):
                return real(store, rank, size, *rest, **named)
            return groups().create_in_place(real, store, rank, timeout, *group)

        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, real) or (GROUPS in sys.modules and groups().is_group(one))

        def __getattr__(cls, name: str) -> Any:
            return getattr(real, name)

    return Kind(real.__name__, (), {"__doc__": real.__doc__})
