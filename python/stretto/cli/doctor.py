# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto doctor`."""

from __future__ import annotations

import typer

from stretto.cli.result_options import AsJson
from stretto.support.console import print_result


def doctor(as_json: AsJson = False) -> None:
    """Check the installation: what is there, what is missing, and how to get it."""
    from stretto.doctor.report import examine_all, print_report, report_json  # noqa: PLC0415  slow: it asks every launcher

    report = examine_all()
    print_result(as_json, lambda: report_json(report), lambda: print_report(report))
    raise typer.Exit(0 if report.served else 1)
