# SPDX-License-Identifier: Apache-2.0
"""Lets a process group go on with the ranks that are left, in the same processes."""

from __future__ import annotations

import functools
from datetime import timedelta
from typing import Any

import torch.distributed

import torch
from stretto.support.errors import StrettoError
from stretto.torch.extension import load_extension


def _c10d() -> Any:
    """PyTorch's module. Its shrink_group() asks for the ranks that are lost; its parts do without."""
    return torch.distributed.distributed_c10d


def mend() -> None:
    """Let PyTorch's shrink_group() register a group of Stretto as what it is. To be called once.

    PyTorch takes it for gloo's, and its C++ code, such as that of DistributedDataParallel, casts it to
    gloo's class.
    """
    create = getattr(_c10d(), "_create_shrunk_process_group", None)
    if create is not None:
        _c10d()._create_shrunk_process_group = _with_own_type(create)


def _with_own_type(create: Any) -> Any:
    @functools.wraps(create)
    def create_with_own_type(backend: Any, ranks: Any, metadata: Any, *rest: Any) -> Any:
        group = create(backend, ranks, metadata, *rest)
        if isinstance(backend, load_extension().ProcessGroup):
            own = _c10d().ProcessGroup.BackendType.CUSTOM
            for one in str(metadata["backend_config"]).split(","):
                device, _, name = one.partition(":")
                if name in ("stretto", "gloo"):
                    group._register_backend(torch.device(device), own, backend)
            group._set_default_backend(own)
        return group

    return create_with_own_type


def shrink(group: Any = None, *, timeout: timedelta | None = None) -> Any:
    """Returns a new process group of those ranks of `group` that are left, in their order.

    Collective over these ranks, which agree on who is left without the store: either all of them get the
    group, or all get an error. A rank that has ended is left out, and so is one that does not call this
    within `timeout` after the others (the group's own time-out if None): its calls in the group fail. If
    `group` is the default group (None), the new one takes its place, and all other groups are destroyed, as
    by `torch.distributed.shrink_group`. Raises StrettoError without a group of Stretto in a job without MPI,
    or if the others have gone on without this rank.
    """
    if not hasattr(_c10d(), "_finalize_shrunk_group"):
        raise StrettoError("this PyTorch has no torch.distributed.shrink_group, so no group can shrink")
    target = _c10d()._prepare_shrink_target_group(group)
    try:
        backend = _c10d()._validate_shrink_backend_requirements(target)
        shrunk, left = backend.shrink_to_those_left(timeout or backend.options._timeout)
    except (TypeError, AttributeError):
        raise StrettoError(
            f"process group {target['group_name']} cannot shrink: only Stretto's can, in jobs without MPI"
        ) from None
    except RuntimeError as error:
        raise StrettoError(str(error).removeprefix("stretto: ")) from None
    ranks = torch.distributed.get_process_group_ranks(target["process_group"])
    lost = {ranks[rank] for rank in range(target["group_size"]) if rank not in left}
    target["pg_options_override"] = None
    return _c10d()._finalize_shrunk_group(target, lost, shrunk)
