# SPDX-License-Identifier: Apache-2.0
"""A process group for torchft: `Manager(pg=ProcessGroupStretto(), …)` in place of `ProcessGroupGloo()`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch.distributed

from stretto.support.errors import StrettoError
from stretto.torch.groups import create

if TYPE_CHECKING:
    _Wrapper = object
else:
    try:
        from torchft.process_group import ProcessGroupWrapper as _Wrapper
    except ImportError as error:
        raise StrettoError(
            f"stretto.torch.torchft needs torchft ({error}); install it: pip install torchft"
        ) from None

dist: Any = torch.distributed  # its stubs are incomplete


@dataclass(frozen=True)
class _Options:
    """What PyTorch gives to a backend that makes a group."""

    store: Any
    group_rank: int
    group_size: int
    global_ranks_in_group: list[int]
    timeout: timedelta
    group_id: str


class ProcessGroupStretto(_Wrapper):
    """A group whose ranks change: torchft configures it anew whenever a replica dies or comes.

    Each time, the process leaves its job and begins one with the ranks that are there. A process is in one
    job at a time, and is one rank of it. Otherwise gloo carries out the group's calls.
    """

    _timeout: timedelta
    _quorum_id: int | None

    def _create_pg(self, store: Any, rank: int, world_size: int) -> Any:
        name = f"torchft {self._quorum_id}"
        options = _Options(store, rank, world_size, list(range(world_size)), self._timeout, name)
        backend = create(options, dist.ProcessGroupGloo)
        types = dist.ProcessGroup.BackendType
        kind = types.GLOO if backend.name() == "gloo" else types.CUSTOM
        group = dist.ProcessGroup(store, rank, world_size)
        group._set_default_backend(kind)
        for device in ("cpu", *(["cuda"] if torch.cuda.is_available() else [])):
            group._register_backend(torch.device(device), kind, backend)
        return group

    def getBackendName(self) -> str:  # noqa: N802  torchft's name
        """Returns the name that torchft's manager writes into its lines."""
        return "torchft-stretto"
