# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto doctor`."""

from __future__ import annotations

from typing import Annotated

import typer


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")] = False,
) -> None:
    """Check the installation: what is there, what is missing, and how to get it."""
    from stretto.doctor.report import print_json, print_report  # noqa: PLC0415  slow: it asks every launcher

    raise typer.Exit(0 if (print_json if as_json else print_report)() else 1)
