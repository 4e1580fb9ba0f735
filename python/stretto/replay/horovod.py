# SPDX-License-Identifier: Apache-2.0
"""Horovod's background thread in virtual time: which gradients it sums together, and when.

A worker's compute thread makes gradients, one after the other. Its background thread looks once a cycle what
is there. All workers' threads first agree on what all of them have, by an allreduce of a bit for each
gradient (they know all gradients from the first step on: Horovod's response cache). What is there is merged
in the order in which gradients come, as long as it fits into the fusion buffer, and summed by blocking
calls. A cycle that is over before the cycle time is waits for the rest of it. The next step begins when all
gradients have been summed.

Since they agree in every cycle, all workers enter it together. So one timeline stands for all of them, and
what a call takes depends on its bytes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_STATUS_BITS = 3
_WORD_BITS = 64
_WORD_BYTES = 8
_UNIT = 64
"""Bytes to a multiple of which Horovod rounds its buffer up."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Gradient:
    """A tensor that all workers sum."""

    name: str
    bytes: int
    ready: float
    """Seconds of computing from the beginning of a step until it is there."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Horovod's own since 0.21. Before that they were 64 MiB and 5 ms."""

    fusion: int = 128 << 20
    """HOROVOD_FUSION_THRESHOLD in bytes; 0: nothing is merged."""
    cycle: float = 1e-3
    """HOROVOD_CYCLE_TIME in seconds."""
    interference: float = 0.0
    """How much longer computing takes beside communication: 0.1 stands for 10 %."""

    def buffer(self, ppn: int) -> int:
        """Bytes of the fusion buffer on nodes with so many workers each."""
        unit = _UNIT * ppn
        return -(-self.fusion // unit) * unit


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds that calls take."""

    coordination: float
    """Of agreeing on what is there."""
    allreduce: Callable[[int], float]
    """By bytes."""
    copy: Callable[[int], float]
    """Of bytes into the fusion buffer, or out of it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One allreduce, of one gradient or more."""

    gradients: tuple[Gradient, ...]
    begin: float
    """With its copies, from the beginning of the step."""
    end: float

    @property
    def bytes(self) -> int:
        """Of all its gradients."""
        return sum(one.bytes for one in self.gradients)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a training."""

    seconds: float
    compute: float
    """What it takes without any communication."""
    messages: tuple[Message, ...]

    @property
    def communication(self) -> float:
        """Seconds in allreduces and their copies."""
        return sum(one.end - one.begin for one in self.messages)

    @property
    def exposed(self) -> float:
        """What the step takes longer than its computation."""
        return self.seconds - self.compute


def coordination_bytes(gradients: int) -> int:
    """What workers agree by: a bit for each gradient, and three for the state, in whole words."""
    return _WORD_BYTES * math.ceil((gradients + _STATUS_BITS) / _WORD_BITS)


def fuse(ready: Sequence[Gradient], buffer: int) -> list[tuple[Gradient, ...]]:
    """Messages, of gradients in their order: as many as fit, or one that is larger than the buffer.

    Of gradients of one type Horovod never takes a later one in place of one that does not fit.
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
    """Steps of one training, one after the other: cycles go on from one to the next."""

    def __init__(self, gradients: Iterable[Gradient], settings: Settings, costs: Costs, ppn: int = 1) -> None:
        """`ppn`: workers of a node."""
        self._gradients = sorted(gradients, key=lambda one: one.ready)
        self._settings = settings
        self._costs = costs
        self._buffer = settings.buffer(ppn)
        self._rest = 0.0
        """Of the cycle in which the last step ended."""

    def step(self, slowness: float = 1.0) -> Step:
        """The next step, in which the slowest worker computes so many times longer than usual."""
        waiting = [(one, slowness * one.ready) for one in self._gradients]
        compute = waiting[-1][1]
        messages: list[Message] = []
        begin = self._rest  # of the cycle
        computed = self._rest  # seconds of computing, until then
        end = 0.0
        while waiting:
            idle = self._idle(waiting[0][1] - computed)
            begin += idle
            computed += idle
            count = sum(ready <= computed + _ROUNDING for _, ready in waiting)
            agreed = begin + self._costs.coordination
            messages += self._carry_out([one for one, _ in waiting[:count]], agreed)
            del waiting[:count]
            end = messages[-1].end
            lost = (end - agreed) * self._settings.interference / (1 + self._settings.interference)
            next_begin = max(begin + self._settings.cycle, end)
            computed += next_begin - begin - lost
            begin = next_begin
        self._rest = begin - end
        return Step(end, compute, tuple(messages))

    def _idle(self, until: float) -> float:
        """How long cycles take that find nothing, until one does."""
        period = max(self._settings.cycle, self._costs.coordination)
        return max(0, math.ceil((until - _ROUNDING) / period)) * period

    def _carry_out(self, ready: Sequence[Gradient], begin: float) -> list[Message]:
        messages = []
        for gradients in fuse(ready, self._buffer):
            size = sum(one.bytes for one in gradients)
            copies = 2 * self._costs.copy(size) if len(gradients) > 1 else 0.0
            end = begin + copies + self._costs.allreduce(size)
            messages.append(Message(gradients, begin, end))
            begin = end
        return messages
