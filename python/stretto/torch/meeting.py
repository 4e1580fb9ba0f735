# SPDX-License-Identifier: Apache-2.0
"""Lets the ranks of a group meet in a store of torch.distributed, and agree on something."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from stretto.support.errors import StrettoError

# The others wait this much longer than rank 0, so that its answer says which ranks are missing.
_TIME_TO_ANSWER = timedelta(seconds=1)
# The round to which ranks come.
_ROUND = "stretto/round"
# How an answer begins.
_DECIDED, _FAILED, _MOVED = "decided", "failed", "moved"


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


def agree(
    store: Any, rank: int, size: int, clock: Clock, word: str, decide: Callable[[Sequence[str]], str]
) -> str:
    """Returns what rank 0 decides, given the words of all ranks. Collective over the ranks.

    Raises StrettoError on all ranks if one does not come in time, or if `decide` raises it.

    Rank 0 opens a round with a random name. The others write their words under that name, and are answered
    there. So nobody believes what an earlier meeting left in the store, whose ranks may have died at any
    point of it. (The number that torchrun gives to its attempts is no such name: each node counts its own.)
    A rank may have come to a round that was left open by a rank 0 that died; the next rank 0 sends it on.
    """
    if size == 1:
        return decide([word])
    return _lead(store, size, clock, word, decide) if rank == 0 else _follow(store, rank, size, clock, word)


def _lead(store: Any, size: int, clock: Clock, word: str, decide: Callable[[Sequence[str]], str]) -> str:
    left_open = store.get(_ROUND).decode() if store.check([_ROUND]) else None
    name = secrets.token_hex(8)
    store.set(_ROUND, name)
    if left_open is not None:
        for other in range(1, size):
            store.set(_answer_to(left_open, other), _MOVED)
    missing = _wait_for_words(store, name, size, clock)
    kind = _FAILED
    if missing:
        # The round stays open. A rank that comes to it later learns of the next one.
        text = str(_late(size, clock, f"{_names(missing)} did not arrive"))
    else:
        words = [word, *(store.get(_word_of(name, other)).decode() for other in range(1, size))]
        # All have read it. No rank that has its answer may take it for the round of the next meeting.
        store.delete_key(_ROUND)
        try:
            kind, text = _DECIDED, decide(words)
        except StrettoError as error:
            text = str(error)
    for other in range(1, size):
        if other not in missing:
            store.set(_answer_to(name, other), f"{kind} {text}")
    if kind == _FAILED:
        raise StrettoError(text)
    return text


def _wait_for_words(store: Any, name: str, size: int, clock: Clock) -> list[int]:
    """Returns the ranks that have not come in time."""
    others = range(1, size)
    try:
        with suppress(RuntimeError):  # too late; or the store has failed, as the next call shows
            store.wait([_word_of(name, other) for other in others], clock.left)
            return []
        return [other for other in others if not store.check([_word_of(name, other)])]
    except RuntimeError as error:
        raise _broken(error) from None


def _follow(store: Any, rank: int, size: int, clock: Clock, word: str) -> str:
    kind, text = _MOVED, ""
    while kind == _MOVED:
        name = _read(store, _ROUND, size, clock)
        own, answer = _word_of(name, rank), _answer_to(name, rank)
        store.set(own, word)
        try:
            kind, _, text = _read(store, answer, size, clock).partition(" ")
            store.delete_key(answer)
        finally:
            with suppress(RuntimeError):
                store.delete_key(own)
    if kind == _FAILED:
        raise StrettoError(text)
    return text


def _read(store: Any, key: str, size: int, clock: Clock) -> str:
    try:
        store.wait([key], clock.left + _TIME_TO_ANSWER)
        text: str = store.get(key).decode()
    except RuntimeError as error:
        if clock.is_over:
            raise _late(size, clock, "rank 0 has not answered") from None
        raise _broken(error) from None
    return text


def _word_of(name: str, rank: int) -> str:
    return f"stretto/{name}/{rank}"


def _answer_to(name: str, rank: int) -> str:
    return f"stretto/{name}/{rank}/answer"


def _names(ranks: list[int]) -> str:
    """Returns the ranks as people write them; only the first few if there are many."""
    names = [*map(str, ranks[:10]), *([f"{len(ranks) - 10} more"] if len(ranks) > 10 else [])]
    *others, last = names
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"


def _late(size: int, clock: Clock, what: str) -> StrettoError:
    return StrettoError(f"not all of its {size} ranks arrived within {clock.limit:g} s: {what}")


def _broken(error: RuntimeError) -> StrettoError:
    return StrettoError(f"the store has failed: {str(error).splitlines()[0]}")
