# SPDX-License-Identifier: Apache-2.0
"""What a worker is told."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """The same on all ranks."""

    framework: str
    model: str
    data: str
    batch: int
    """Images of each rank in a step."""
    steps: int
    """Of a block, all by one spec."""
    rounds: int
    """Blocks of each spec, in turns."""
    specs: tuple[str, ...]
    """How allreduce is to be carried out; empty: Stretto is not there, or is left alone."""
    compute_steps: int
    """Steps without communication, before all others."""
    threads: int
    """Of the framework's computation, on each rank; 0: its share of the node's cores (cores.py)."""
    seed: int
    learning_rate: float
    compression: str
    """Of gradients: none, fp16 or, with PyTorch, bf16."""
    backend: str
    """PyTorch's: stretto, gloo or mpi."""

    def to_text(self) -> str:
        """As the command line has it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Options:
        """What to_text() gave."""
        content = json.loads(text)
        return cls(**content | {"specs": tuple(content["specs"])})
