# SPDX-License-Identifier: Apache-2.0
"""Jobs without MPI, where `--mpi` names a library: their messages go over sockets of Stretto's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence


def ranks_command(prefixes: Sequence[Sequence[str]], program: Sequence[str]) -> list[str]:
    """The command line that starts a rank by each prefix: an empty one, or what enters a lab's node."""
    return [sys.executable, "-m", "stretto.sockets.ranks", json.dumps(prefixes), *program]


def torchrun_command(launcher: Sequence[str], program: Sequence[str]) -> list[str]:
    """The command line by which torchrun, or what starts it on all nodes, starts the ranks."""
    return [*launcher, "-m", "stretto.torch.measuring", *program]
