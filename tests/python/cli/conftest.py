# SPDX-License-Identifier: Apache-2.0
"""What several tests of commands use."""

from tests.python.cli.documents import run_both

__all__ = ["run_both"]
