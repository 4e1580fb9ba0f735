# SPDX-License-Identifier: Apache-2.0
"""`stretto doctor`, which has no options."""

from __future__ import annotations

import typer


def doctor() -> None:
    """Check the installation: what is there, what is missing, and how to get it."""
    from stretto.doctor.report import print_report  # noqa: PLC0415  slow: it asks every launcher

    raise typer.Exit(0 if print_report() else 1)
