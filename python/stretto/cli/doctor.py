# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto.cli.result_options import AsJson
from stretto.doctor.lines import Place, groups_json, lines_for, print_groups
from stretto.support.console import print_result


def doctor(
    lines: Annotated[
        Place | None,
        typer.Option(
            "--lines",
            help="Check nothing; print lines to copy, with the paths of this installation: for Slurm and its "
            "plugin, or for containers.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the installation: what is there, what is missing, and how to get it."""
    if lines is not None:
        groups = lines_for(lines)
        print_result(as_json, lambda: groups_json(lines, groups), lambda: print_groups(groups))
        return
    from stretto.doctor.report import examine_all, print_report, report_json  # noqa: PLC0415  slow: it asks every launcher

    report = examine_all()
    print_result(as_json, lambda: report_json(report), lambda: print_report(report))
    raise typer.Exit(0 if report.served else 1)
