# SPDX-License-Identifier: Apache-2.0
"""The errors that the command line shows as a single line."""

from __future__ import annotations


class StrettoError(Exception):
    """What was wrong, where, and what to do: one line, shown without a traceback."""

    status = 2
    """With which the command ends."""


class WrongResultError(StrettoError):
    """What was measured or checked is wrong; all that was asked for was done."""

    status = 1
