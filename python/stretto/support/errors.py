# SPDX-License-Identifier: Apache-2.0
"""The errors that the command line shows as a single line."""

from __future__ import annotations


class StrettoError(Exception):
    """An error that is shown as one line, without a traceback: what was wrong, where, and what to do."""

    status = 2
    """The exit status of the command."""


class WrongResultError(StrettoError):
    """A measured or checked result is wrong, though the command itself succeeded."""

    status = 1
