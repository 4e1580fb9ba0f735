# SPDX-License-Identifier: Apache-2.0
"""The one kind of error that the command line shows as a single line."""

from __future__ import annotations


class StrettoError(Exception):
    """What was wrong, where, and what to do: one line, shown without a traceback, exit status 2."""
