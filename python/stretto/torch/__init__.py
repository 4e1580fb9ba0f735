# SPDX-License-Identifier: Apache-2.0
"""The backend "stretto" of torch.distributed: `import stretto.torch`, then `init_process_group("stretto")`.

All ranks of a job that an MPI launcher started must import it. It initializes MPI, and sets the variables of
`init_process_group`. Without a launcher it is an error, since processes could not find each other.
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

# `python -m stretto.torch` builds the extension ahead of time, without a launcher; sys.argv[0] is then "-m".
# With RANK set, another backend may be used; "stretto" is refused when it is requested.
is_launched = find_launch(os.environ) is not None
if not is_launched and sys.argv[:1] != ["-m"] and "RANK" not in os.environ:
    raise StrettoError(HOW_TO_START)
register(started=is_launched)
