# SPDX-License-Identifier: Apache-2.0
"""`stretto profile`: run a program and say which collectives it called, how often and for how long."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.cli.program import program_of
from stretto.launch import jobs
from stretto.launch import run as launch
from stretto.support.console import console_for
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_all, write_atomically
from stretto.support.interruption import INTERRUPTIONS, exit_status_of
from stretto.support.json_files import file_text
from stretto.support.units import format_bytes, format_nodes, format_seconds, three_digits
from stretto.trace.analysis import BLOCKING
from stretto.trace.files import TraceFolder, read_folder
from stretto.trace.horovod_timeline import Steps, read_timeline, steps_of
from stretto.trace.profile import make_profile
from stretto.trace.profile_file import FORMAT, Bin, Profile, Training
from stretto.trace.table import missing_text

_BAR = 24
"""Characters of the longest bar."""
_GRACE_SECONDS = 10.0
"""An interrupted program may take this long to come to its end."""
_MOST_ROWS = 10
"""Kinds of calls that are listed; the file has all."""


def profile(
    context: typer.Context,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the profile here, for stretto replay.")
    ] = None,
    png_file: Annotated[Path | None, typer.Option("--png", help="Draw the histograms here.")] = None,
    spec: Annotated[
        list[str] | None, typer.Option(help="How to carry out allreduce or another, as in stretto run.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the profile in place of tables.")] = False,
    mpi_name: Annotated[
        str | None, typer.Option("--mpi", metavar="NAME", help="The MPI of the ranks, as in stretto run.")
    ] = None,
) -> None:
    """Run an MPI program and profile its collectives: stretto profile -- mpirun -np 8 ./program.

    Of a Horovod training it also finds when each gradient comes, from Horovod's timeline.
    """
    check_files([output], [png_file])
    with tempfile.TemporaryDirectory(prefix="stretto-profile-") as name:
        status, found, training = _run(program_of(context), spec or (), mpi_name, Path(name))
    for line in [*found.complaints, *([missing_text(found.missing)] if found.missing else [])]:
        typer.echo(f"stretto: {line}", err=True)
    its = make_profile(found, training)
    text = file_text(FORMAT, sys.argv, f"{its.ranks} ranks on {format_nodes(its.nodes)}", its.model_dump())
    if as_json:
        print(text, end="")
    else:
        _print(its)

    def draw() -> None:
        if png_file:
            from stretto.trace.profile_plot import draw_profile  # noqa: PLC0415  Matplotlib is slow to load

            draw_profile(its, png_file)

    write_all(lambda: write_atomically(output, text) if output else None, draw)
    if status:
        raise typer.Exit(status)


def _run(
    program: Sequence[str], specs: Sequence[str], mpi_name: str | None, folder: Path
) -> tuple[int, TraceFolder, Steps | None]:
    """The program's exit status, and what it left. What ended without leaving anything is an error."""
    traces, timeline = folder / "traces", folder / "timeline.json"
    traces.mkdir()
    try:
        line = launch.command(
            program,
            os.environ | {"STRETTO_TRACE": str(traces)},
            specs=specs,
            others={"HOROVOD_TIMELINE": str(timeline), "HOROVOD_TIMELINE_MARK_CYCLES": "1"},
            mpi_name=mpi_name,
        )
    except launch.UnknownLauncherError as error:
        raise _by_hand(error, traces, timeline) from None
    try:
        # What the program left running on purpose is not ours to end.
        with jobs.start(line, stdin=None, stdout=None, sweeps=False, grace_seconds=_GRACE_SECONDS) as process:
            status = process.wait()
    except INTERRUPTIONS as ended:
        status = exit_status_of(ended)
    if not any(traces.iterdir()):
        if status:
            typer.echo("stretto: no rank came to MPI_Finalize, so nothing was recorded", err=True)
            raise typer.Exit(status)
        raise StrettoError(
            f"{program[0]} ended, but no rank left a trace here: either its program uses no MPI, or its "
            f"nodes do not share {folder.parent}; set TMPDIR to a folder that they share"
        )
    found = read_folder(traces)
    return status, found, steps_of(read_timeline(timeline)) if timeline.exists() else None


def _by_hand(error: launch.UnknownLauncherError, traces: Path, timeline: Path) -> launch.UnknownLauncherError:
    """The same advice, of a folder that lasts."""
    lasting = Path.cwd() / "stretto-trace"
    advice = [line for line in error.exports if str(timeline) not in line and "HOROVOD" not in line]
    return launch.UnknownLauncherError(
        str(error),
        [
            f"mkdir -p {shlex.quote(str(lasting))}  # all nodes must see it",
            *(line.replace(str(traces), str(lasting)) for line in advice),
            f"# when the job has ended: stretto trace {shlex.quote(str(lasting))}",
        ],
    )


def _print(its: Profile) -> None:
    tables = [_calls_table(its), _histogram_table(its.histogram, its.seconds)]
    console = console_for(*tables)
    for table in tables:
        console.print(table)
    lines = [
        (
            f"{its.ranks} ranks on {format_nodes(its.nodes)}: {100 * its.share:.1f} % of "
            f"{format_seconds(its.seconds)} inside of collectives, {format_seconds(its.waiting)} of it "
            "waiting for ranks that came later; time is the mean of ranks, from the first call to the last "
            "end"
        ),
        *(_training_lines(its.training) if its.training else []),
    ]
    for line in lines:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _calls_table(its: Profile) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("most time in", no_wrap=True)
    table.add_column("spec", overflow="fold")
    for title in ("bytes", "calls", "time", "a call", "95 %", "arrivals apart", "gap before"):
        table.add_column(title, justify="right", no_wrap=True)
    for one in sorted(its.collectives, key=lambda one: -one.inside)[:_MOST_ROWS]:
        figures = (one.inside, one.seconds.median, one.seconds.p95, one.arrival.median, one.gap.median)
        table.add_row(
            one.collective if one.form == BLOCKING else f"{one.collective}, {one.form}",
            one.spec,
            format_bytes(one.bytes),
            str(one.calls),
            *(_time(seconds) for seconds in figures),
        )
    return table


def _time(seconds: float) -> str:
    return format_seconds(seconds) if seconds else "0"


def _histogram_table(bins: Sequence[Bin], seconds: float) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for title, justify in (
        ("collective", "left"), ("bytes", "right"), ("calls", "right"), ("", "left"),
        ("MB", "right"), ("time", "right"), ("of all", "right"), ("", "left"),
    ):  # fmt: skip
        table.add_column(title, justify="right" if justify == "right" else "left", no_wrap=True)
    most_calls = max((one.calls for one in bins), default=1)
    most_time = max((one.inside for one in bins), default=1.0) or 1.0
    for one in bins:
        table.add_row(
            one.collective,
            bin_text(one.begin),
            str(one.calls),
            "█" * round(_BAR * one.calls / most_calls),
            three_digits(one.total_bytes / 1e6),
            _time(one.inside),
            f"{100 * one.inside / seconds:.1f} %" if seconds else "",
            "█" * round(_BAR * one.inside / most_time),
        )
    return table


def bin_text(begin: int) -> str:
    """`1 KiB..2 KiB`"""
    return f"{format_bytes(begin)}..{format_bytes(2 * begin)}" if begin else "0"


def _training_lines(training: Training) -> list[str]:
    total = sum(one.bytes for one in training.gradients)
    messages = sum(one.per_step for one in training.messages)
    return [
        (
            f"{training.framework}: {training.steps} steps of {format_seconds(training.step_seconds)}, "
            f"{len(training.gradients)} gradients of {total / 1e6:.3g} MB in {messages:.1f} messages a step"
        ),
        (
            f"the last gradient is there {format_seconds(training.compute_seconds)} after a step's "
            f"beginning, ± {format_seconds(training.uncertainty_seconds)}: what a step would take without "
            "communication"
        ),
    ]
