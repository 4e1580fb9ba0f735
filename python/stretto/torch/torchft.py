# SPDX-License-Identifier: Apache-2.0
"""A process group for torchft: `Manager(pg=ProcessGroupStretto(), …)` in place of `ProcessGroupGloo()`."""

from __future__ import annotations

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


class ProcessGroupStretto(_Wrapper):
    """A group whose ranks change: torchft configures it anew whenever a replica dies or comes.

    Each time, the process leaves its job and begins one with the ranks that are there. A process is in one
    job at a time, and is one rank of it. Otherwise gloo carries out the group's calls.
    """

    _timeout: timedelta
    _quorum_id: int | None

    def _create_pg(self, store: Any, rank: int, world_size: int) -> Any:
        options = dist.distributed_c10d._DistributedBackendOptions()
        options.store, options.group_rank, options.group_size = store, rank, world_size
        options.timeout, options.group_id = self._timeout, f"torchft {self._quorum_id}"
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
