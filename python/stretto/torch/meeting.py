# SPDX-License-Identifier: Apache-2.0
"""Lets the ranks of a group meet in a store of torch.distributed, and agree on its job."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from datetime import timedelta
from enum import Enum
from typing import Any

from stretto.support.errors import StrettoError

# The others wait this much longer than rank 0, so that its answer says which ranks are missing.
_TIME_TO_ANSWER = timedelta(seconds=1)


class Clock:
    """The time that is left of a limit."""

    def __init__(self, limit: timedelta) -> None:
        self.limit = limit.total_seconds()
        self._end = time.monotonic() + self.limit

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._end

    @property
    def left(self) -> timedelta:
        """The time that is left; at least a millisecond, since stores wait forever if it is 0."""
        return timedelta(seconds=max(self._end - time.monotonic(), 0.001))


class Outcome(Enum):
    """The relation of the ranks to jobs."""

    BEGIN = "begin"  # the ranks are in no job, and begin one
    JOIN = "join"  # the ranks are in the same job
    MIXED = "mixed"  # neither
    LATE = "late"  # not all have come


def meet(store: Any, rank: int, size: int, clock: Clock, job: str = "") -> tuple[Outcome, str]:
    """Returns the outcome, and the job that the ranks begin or are in. `job`: the job of this rank, if any.

    Each rank writes a random word to the store, and rank 0 answers under that word. So no rank takes an
    old answer for its own, whatever earlier jobs have left in the store. Raises StrettoError if a rank does
    not come in time.
    """
    if rank == 0:
        outcome, text = _answer(store, size, clock, job)
    else:
        outcome, text = _ask(store, rank, size, clock, job)
    if outcome is Outcome.LATE:
        raise _late(size, clock, f"{text} did not arrive")
    return outcome, text


def _ask(store: Any, rank: int, size: int, clock: Clock, job: str) -> tuple[Outcome, str]:
    word = secrets.token_hex(8)
    here, answer = f"stretto/here/{rank}", f"stretto/answer/{word}"
    store.set(here, f"{word} {job}")
    try:
        store.wait([answer], clock.left + _TIME_TO_ANSWER)
    except RuntimeError as error:
        with suppress(RuntimeError):
            store.delete_key(here)
        if clock.is_over:
            raise _late(size, clock, "rank 0 has not answered") from None
        raise StrettoError(f"the store has failed: {str(error).splitlines()[0]}") from None
    outcome, _, text = store.get(answer).decode().partition(" ")
    store.delete_key(answer)
    return Outcome(outcome), text


def _answer(store: Any, size: int, clock: Clock, job: str) -> tuple[Outcome, str]:
    keys = [f"stretto/here/{rank}" for rank in range(1, size)]
    present = keys
    try:
        if keys:
            store.wait(keys, clock.left)
    except RuntimeError:
        present = [key for key in keys if store.check([key])]
    words, jobs = [], {job}
    for key in present:
        word, _, its = store.get(key).decode().partition(" ")
        store.delete_key(key)
        words.append(word)
        jobs.add(its)
    if present != keys:
        missing = [rank for rank, key in enumerate(keys, 1) if key not in present]
        outcome, text = Outcome.LATE, _names(missing)
    elif len(jobs) > 1:
        outcome, text = Outcome.MIXED, ""
    else:
        outcome, text = (Outcome.JOIN, job) if job else (Outcome.BEGIN, secrets.token_hex(8))
    for word in words:
        store.set(f"stretto/answer/{word}", f"{outcome.value} {text}")
    return outcome, text


def _names(ranks: list[int]) -> str:
    """Returns the ranks as people write them; only the first few if there are many."""
    names = [*map(str, ranks[:10]), *([f"{len(ranks) - 10} more"] if len(ranks) > 10 else [])]
    *others, last = names
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"


def _late(size: int, clock: Clock, what: str) -> StrettoError:
    return StrettoError(f"not all of its {size} ranks arrived within {clock.limit:g} s: {what}")
