# SPDX-License-Identifier: Apache-2.0
"""The backend "stretto" of torch.distributed: `init_process_group("stretto")`.

`import torch` registers it (PyTorch 2.5 and later). All ranks of an MPI launcher must also import this
package, which initializes MPI and sets the variables of `init_process_group`.
"""

from __future__ import annotations

import os

from stretto.autoload import entry
from stretto.support.errors import StrettoError

try:
    import torch.distributed
except ImportError as error:
    raise StrettoError(f"stretto.torch needs PyTorch ({error}); install it: pip install torch") from None

from stretto.torch.mpi_job import begin_mpi
from stretto.torch.network import Network, choose_network
from stretto.torch.shrinking import shrink

__all__ = ["shrink"]

if not torch.distributed.is_available():
    raise StrettoError(
        "this PyTorch was built without torch.distributed; install another one: pip install torch"
    )

entry.register()
if not entry.is_for_group and choose_network(os.environ) is Network.MPI:
    begin_mpi()
