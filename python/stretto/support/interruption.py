# SPDX-License-Identifier: Apache-2.0
"""Signals that end a command: they unwind the stack, so what was begun is undone and what is known written.

The command line wraps every command in `exit_by_signal`; a command that has results catches INTERRUPTIONS,
writes what there is, and raises them again.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

_NUMBERS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(BaseException):
    """A signal that ends the program, as an exception, so that what was begun is undone first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


INTERRUPTIONS = (KeyboardInterrupt, Terminated)
"""What TERM, HUP and INT raise."""


def signal_of(interruption: BaseException) -> signal.Signals:
    """The signal that raised it."""
    return signal.Signals(interruption.number if isinstance(interruption, Terminated) else signal.SIGINT)


def exit_status_of(interruption: BaseException) -> int:
    """As a shell tells of a program that a signal ended."""
    return 128 + signal_of(interruption)


def _raise_terminated(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)


@contextlib.contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind the stack, as SIGINT does by itself.

    What is ignored stays so: `nohup` means it.
    """
    numbers = [number for number in _NUMBERS if signal.getsignal(number) is not signal.SIG_IGN]
    before = [signal.signal(number, _raise_terminated) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Signals that end the program wait until the block is through: undoing must not be undone halfway."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *_NUMBERS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def exit_by_signal() -> Iterator[None]:
    """The block ends with status 128 + N when signal N ends it, and says so."""
    try:
        with signals_as_exceptions():
            yield
    except INTERRUPTIONS as error:
        print(f"stretto: ended by {signal_of(error).name}", file=sys.stderr)
        raise SystemExit(exit_status_of(error)) from None
