# SPDX-License-Identifier: Apache-2.0
"""`stretto report`: one page of all that was measured, chosen and predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.report import choices as report_choices
from stretto.report import guidelines as report_guidelines
from stretto.report import models as report_models
from stretto.report import png as report_png
from stretto.report import statistics as report_statistics
from stretto.report import study as report_study
from stretto.report.inputs import Inputs, read_inputs
from stretto.report.page import Section, render
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, make_folder, write_atomically


def report(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Files that Stretto wrote, known by their content: a study or its folder, a benchmark's "
            "JSON, guidelines, a table, a machine, predictions, statistics of a run."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FOLDER", help="Write the charts as PNG, too.")
    ] = None,
) -> None:
    """Make one HTML page that needs nothing else: throughput, gains, choices, theory against reality."""
    check_files([output])
    if png is not None:
        make_folder(png, "--png")
    found = read_inputs(inputs)
    page = page_text(found)
    write_atomically(output, page)
    print(f"{output}: {len(page.encode()) / 1e6:.1f} MB; open it in a browser, it needs no network")
    if png is not None:
        for file in report_png.write_charts(found, png):
            print(file)


def page_sections(found: Inputs) -> list[Section]:
    """All that the inputs have something for."""
    return [
        *report_study.sections(found.studies),
        *report_choices.sections(found.tables),
        *report_models.prediction_sections(found.predictions),
        *report_guidelines.sections(found.guidelines),
        *report_models.machine_sections(found.machines),
        *report_statistics.sections(found.statistics),
    ]


def page_text(found: Inputs) -> str:
    """The page. Raises StrettoError when there is nothing to show."""
    sections = page_sections(found)
    if not sections:
        raise StrettoError(f"{', '.join(found.files)}: there is no result in it to show")
    places = dict.fromkeys(study.where for study in found.studies)
    places |= dict.fromkeys(one.where for one in found.guidelines)
    libraries = dict.fromkeys(run.name for study in found.studies for run in study.runs)
    subtitle = "; ".join([*places, *libraries])
    return render("MPI collectives: measured, chosen, explained", subtitle, sections, found.files)
