# SPDX-License-Identifier: Apache-2.0
"""Plays Horovod's background thread in virtual time: which gradients it sums together, and when.

The compute thread of a worker makes gradients one after the other. The background thread checks once per
cycle which are ready. First, all workers agree on the gradients that all of them have, by an allreduce with a
bit for each gradient (Horovod's response cache knows all gradients from the first step on). Ready gradients
are merged in their order, as long as they fit into the fusion buffer, and summed by blocking calls. A cycle
lasts at least the cycle time. The next step begins when all gradients have been summed.

Since the workers agree in every cycle, they enter it together. So one timeline stands for all of them, and
the time of a call depends on its bytes only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_STATUS_BITS = 3
_WORD_BITS = 64
_WORD_BYTES = 8
_UNIT = 64
"""Horovod rounds its buffer up to a multiple of this many bytes per worker of a node."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Gradient:
    """A tensor that all workers sum."""

    name: str
    bytes: int
    ready: float
    """Seconds of computation from the start of a step until it is ready."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Horovod's settings, with its defaults since 0.21 (before: 64 MiB and 5 ms)."""

    fusion: int = 128 << 20
    """HOROVOD_FUSION_THRESHOLD in bytes; 0 merges nothing."""
    cycle: float = 1e-3
    """HOROVOD_CYCLE_TIME in seconds."""
    interference: float = 0.0
    """Slowdown of computation during communication: 0.1 is 10 %."""

    def buffer(self, ppn: int) -> int:
        """Bytes of the fusion buffer with `ppn` workers per node."""
        unit = _UNIT * ppn
        return -(-self.fusion // unit) * unit


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of calls and copies."""

    coordination: float
    """Seconds of an agreement on ready gradients."""
    allreduce: Callable[[int], float]
    """Seconds of an allreduce by bytes."""
    copy: Callable[[int], float]
    """Seconds of a copy into or out of the fusion buffer, by bytes."""


@dataclass(frozen=True, slots=True)
class Message:
    """An allreduce of one or more gradients."""

    gradients: tuple[Gradient, ...]
    begin: float
    """Seconds from the start of the step; copies are included."""
    end: float

    @property
    def bytes(self) -> int:
        """The bytes of all its gradients."""
        return sum(one.bytes for one in self.gradients)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a training."""

    seconds: float
    compute: float
    """Seconds without any communication."""
    messages: tuple[Message, ...]

    @property
    def communication(self) -> float:
        """Seconds in allreduces and their copies."""
        return sum(one.end - one.begin for one in self.messages)

    @property
    def exposed(self) -> float:
        """Seconds that communication adds to computation."""
        return self.seconds - self.compute


def coordination_bytes(gradients: int) -> int:
    """Bytes of an agreement: a bit for each gradient and three for the state, in whole words."""
    return _WORD_BYTES * math.ceil((gradients + _STATUS_BITS) / _WORD_BITS)


def fuse(ready: Sequence[Gradient], buffer: int) -> list[tuple[Gradient, ...]]:
    """Merge gradients in their order: as many as fit into the buffer, or a single larger one.

    Horovod never takes a later gradient of the same type in place of one that does not fit.
    """
    messages: list[list[Gradient]] = []
    filled = 0
    for gradient in ready:
        if messages and filled + gradient.bytes <= buffer:
            messages[-1].append(gradient)
            filled += gradient.bytes
        else:
            messages.append([gradient])
            filled = gradient.bytes
    return [tuple(one) for one in messages]


class Training:
    """Plays the steps of a training, one after the other. A cycle may reach into the next step."""

    def __init__(self, gradients: Iterable[Gradient], settings: Settings, costs: Costs, ppn: int = 1) -> None:
        """`ppn` is the number of workers per node."""
        self._gradients = sorted(gradients, key=lambda one: one.ready)
        self._settings = settings
        self._costs = costs
        self._buffer = settings.buffer(ppn)
        self._rest = 0.0
        """The rest of the cycle in which the last step ended."""

    def step(self, slowness: float = 1.0) -> Step:
        """Play the next step; the slowest worker computes `slowness` times as long as usual."""
        waiting = [(one, slowness * one.ready) for one in self._gradients]
        compute = waiting[-1][1]
        messages: list[Message] = []
        begin = self._rest  # when the cycle begins
        computed = self._rest  # seconds of computation until then
        end = 0.0
        while waiting:
            idle = self._idle(waiting[0][1] - computed)
            begin += idle
            computed += idle
            count = sum(ready <= computed + _ROUNDING for _, ready in waiting)
            agreed = begin + self._costs.coordination
            messages += self._sum([one for one, _ in waiting[:count]], agreed)
            del waiting[:count]
            end = messages[-1].end
            lost = (end - agreed) * self._settings.interference / (1 + self._settings.interference)
            next_begin = max(begin + self._settings.cycle, end)
            computed += next_begin - begin - lost
            begin = next_begin
        self._rest = begin - end
        return Step(end, compute, tuple(messages))

    def _idle(self, until: float) -> float:
        """Time of cycles that find no gradient, until one does."""
        period = max(self._settings.cycle, self._costs.coordination)
        return max(0, math.ceil((until - _ROUNDING) / period)) * period

    def _sum(self, ready: Sequence[Gradient], begin: float) -> list[Message]:
        messages = []
        for gradients in fuse(ready, self._buffer):
            size = sum(one.bytes for one in gradients)
            copies = 2 * self._costs.copy(size) if len(gradients) > 1 else 0.0
            end = begin + copies + self._costs.allreduce(size)
            messages.append(Message(gradients, begin, end))
            begin = end
        return messages
