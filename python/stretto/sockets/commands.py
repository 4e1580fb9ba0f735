# SPDX-License-Identifier: Apache-2.0
"""Command lines of jobs without MPI (`--mpi sockets`), whose messages go over Stretto's own sockets."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence


def ranks_command(prefixes: Sequence[Sequence[str]], program: Sequence[str]) -> list[str]:
    """The command line that starts a rank by each prefix: an empty one, or one that enters a lab's node."""
    return [sys.executable, "-m", "stretto.sockets.ranks", json.dumps(prefixes), *program]


def torchrun_command(launcher: Sequence[str], program: Sequence[str]) -> list[str]:
    """The command line with which torchrun, or a program that starts it on all nodes, starts the ranks."""
    return [*launcher, "-m", "stretto.torch.measuring", *program]
