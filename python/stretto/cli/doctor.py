# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto doctor`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from stretto.cli.program import OptionalProgramCommand, program_of
from stretto.cli.result_options import AsJson
from stretto.doctor.lines import LinesFor, groups_json, lines_for, print_groups
from stretto.support.console import print_result

COMMAND_CLASS = OptionalProgramCommand


def doctor(
    context: typer.Context,
    lines: Annotated[
        LinesFor | None,
        typer.Option(
            "--lines",
            help="Check nothing; print lines to copy, with the paths of this installation: for Slurm and its "
            "plugin, or for containers.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the installation: what is there, what is missing, and how to get it.

    Or all nodes of a cluster, by your own launcher: stretto doctor -- mpirun --hostfile hosts. What differs?

    Or a program, which is not started: stretto doctor -- mpirun -np 8 ./solver. Will its calls reach Stretto?
    """
    if lines is not None:
        groups = lines_for(lines)
        print_result(as_json, lambda: groups_json(lines, groups), lambda: print_groups(groups))
        return
    # Slow: it asks every launcher.
    from stretto.doctor.report import (  # noqa: PLC0415
        examine_all,
        examine_job,
        job_json,
        print_job,
        print_report,
        report_json,
    )

    if program := program_of(context):
        job = examine_job(program, os.environ)
        print_result(as_json, lambda: job_json(job), lambda: print_job(job))
        raise typer.Exit(1 if job.is_bad else 0)
    report = examine_all()
    print_result(as_json, lambda: report_json(report), lambda: print_report(report))
    raise typer.Exit(0 if report.served else 1)
