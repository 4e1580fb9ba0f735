# SPDX-License-Identifier: Apache-2.0
"""The backend "stretto" of torch.distributed: `import stretto.torch`, then `init_process_group("stretto")`.

To be imported by all ranks of a job that an MPI launcher started: it initializes MPI, and sets what
`init_process_group` looks for in the environment. Without a launcher it is an error, since no process would
find another.
"""

from __future__ import annotations

import os
import sys

from stretto.launch.environment import find_launch
from stretto.support.errors import StrettoError

try:
    import torch.distributed
except ImportError as error:
    raise StrettoError(f"stretto.torch needs PyTorch ({error}); install it: pip install torch") from None

from stretto.torch.loading import HOW_TO_START
from stretto.torch.registration import register

if not torch.distributed.is_available():
    raise StrettoError(
        "this PyTorch was built without torch.distributed; install another one: pip install torch"
    )

# `python -m stretto.torch` builds the extension ahead of time and needs no launcher; while it looks for the
# module, sys.argv[0] is "-m". Who sets RANK may use another backend; "stretto" is refused when asked for.
is_launched = find_launch(os.environ) is not None
if not is_launched and sys.argv[:1] != ["-m"] and "RANK" not in os.environ:
    raise StrettoError(HOW_TO_START)
register(started=is_launched)
