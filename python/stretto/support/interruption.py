# SPDX-License-Identifier: Apache-2.0
"""Turns signals that end a command into exceptions, so that cleanup runs and results are written.

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
    """A signal that ends the program, as an exception, so that cleanup runs first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


INTERRUPTIONS = (KeyboardInterrupt, Terminated)
"""The exceptions that SIGTERM, SIGHUP and SIGINT raise."""


def signal_of(interruption: BaseException) -> signal.Signals:
    """The signal that raised the exception."""
    return signal.Signals(interruption.number if isinstance(interruption, Terminated) else signal.SIGINT)


def exit_status_of(interruption: BaseException) -> int:
    """The exit status by which shells report a signal: 128 + N."""
    return 128 + signal_of(interruption)


def _raise_terminated(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)


@contextlib.contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise exceptions in the block, as SIGINT does anyway.

    Ignored signals stay ignored, for `nohup`.
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
    """Delay signals that end the program until the block ends, so that cleanup completes."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *_NUMBERS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def exit_by_signal() -> Iterator[None]:
    """If signal N ends the block, print that and exit with status 128 + N."""
    try:
        with signals_as_exceptions():
            # The program `stretto` holds SIGINT back while Python starts (src/exec/main.cpp).
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            yield
    except INTERRUPTIONS as error:
        print(f"stretto: ended by {signal_of(error).name}", file=sys.stderr)
        raise SystemExit(exit_status_of(error)) from None
