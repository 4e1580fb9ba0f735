# SPDX-License-Identifier: Apache-2.0
"""The options of a worker."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """The options, which are the same on all ranks."""

    framework: str
    model: str
    data: str
    batch: int
    """Images of each rank in a step."""
    steps: int
    """Steps of a block, all by one spec."""
    rounds: int
    """Blocks of each spec, in turns."""
    specs: tuple[str, ...]
    """The specs of allreduce; empty if Stretto is not preloaded, or if it chooses itself."""
    compute_steps: int
    """Steps without communication, before all others."""
    threads: int
    """Threads of the framework on each rank; 0 for the rank's share of the cores (cores.py)."""
    seed: int
    learning_rate: float
    compression: str
    """The compression of gradients: none, fp16 or, with PyTorch, bf16."""
    backend: str
    """The backend of PyTorch: stretto, gloo or mpi."""

    def to_text(self) -> str:
        """Returns the options as text for the command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Options:
        """Returns the options from the text of to_text()."""
        content = json.loads(text)
        return cls(**content | {"specs": tuple(content["specs"])})
