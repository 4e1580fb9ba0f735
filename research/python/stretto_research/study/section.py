# SPDX-License-Identifier: Apache-2.0
"""The section of `stretto report` on performance guidelines: which of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stretto.plots.pictures import add_field, new_figure
from stretto.report.kinds import Kind
from stretto.report.page import Cell, Chart, Column, KeyFigure, Section, Table, estimated, number
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.studies.figures import file_name
from stretto.support.units import format_bytes, three_digits
from stretto_research.study.guidelines import TOLERANCE, Check, sizes_of, violations
from stretto_research.study.guidelines_file import Guidelines, LibraryChecks, parse_guidelines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIDES = ((NATIVE, "the library"), (STRETTO, "Stretto"))


def sections(found: Sequence[Guidelines]) -> list[Section]:
    """Returns a section with a chart for each library, and a table of violations; none without checks."""
    libraries = [library for one in found for library in one.libraries if library.checks]
    if not libraries:
        return []
    section = Section(
        "guidelines",
        "Performance guidelines",
        "What users may expect of any MPI library (Träff, Gropp, Thakur, 2010): a collective takes no "
        "longer than other calls that do the same; a short message takes no longer than a long one; and "
        "splitting a message gains nothing. A ratio above 1 breaks a guideline: rewriting the program "
        "would make it faster. Both sides were measured alternately in one run. Copies between calls are "
        "not counted.",
    )
    for index, library in enumerate(libraries):
        section.items.append(ratio_chart(f"guidelines-{index + 1}", library))
    section.items.append(violations_table("violations", libraries))
    for library in libraries:
        counts = [len(violations(library.checks, spec)) for spec, _ in _SIDES]
        section.figures.append(
            KeyFigure(
                f"{counts[0]} → {counts[1]}",
                f"guidelines violated by the MPI library alone → with Stretto: {library.title}",
                counts[1] > 0,
            )
        )
    return [section]


def ratio_chart(identity: str, library: LibraryChecks) -> Chart:
    """Returns maps of guidelines by size, for the library and for Stretto."""
    caption = (
        f"{library.title}. Time of a guideline's left side divided by that of its right side. Blue: it "
        f"holds; red: it does not; !: violated beyond noise (the whole 95 % interval is above {TOLERANCE})."
    )
    file = f"guidelines-{file_name(library.title)}"
    return Chart(identity, library.title, caption, file, lambda: guidelines_figure(library))


def guidelines_figure(library: LibraryChecks) -> Figure:
    """Returns maps of guidelines by size, for the library and for Stretto."""
    from matplotlib import colormaps  # noqa: PLC0415  loaded with the rest

    guidelines = list(dict.fromkeys(one.guideline for one in library.checks))
    sizes = sizes_of(library.checks)
    figure = new_figure(4.6 + 1.1 * len(sizes), 1.4 + 0.26 * len(guidelines))
    figure.suptitle(f"{library.title}: left side / right side, ! violated", fontsize=11)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (spec, title) in zip(panels, _SIDES, strict=True):
        for one in (check for check in library.checks if check.spec == spec):
            x, y, ratio = sizes.index(one.bytes), guidelines.index(one.guideline), one.ratio.median
            # From blue over white, for equal times, to red.
            add_field(axes, (x - 0.5, y - 0.5), colormaps["RdBu_r"](ratio / 2), _tip(one))
            text = f"{three_digits(ratio)}{' !' if one.violated else ''}"
            colour = "white" if abs(ratio - 1) > 0.7 else "black"
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color=colour)
        axes.set(xlim=(-0.5, len(sizes) - 0.5), ylim=(len(guidelines) - 0.5, -0.5))
        axes.set_title(title, fontsize=10)
        axes.set_xticks(range(len(sizes)), [format_bytes(size) for size in sizes], fontsize=8)
        axes.set_yticks(range(len(guidelines)), [one.text for one in guidelines], fontsize=8)
    return figure


def _tip(one: Check) -> str:
    return (
        f"{one.guideline.text}, {format_bytes(one.bytes)}\n{one.ratio.text()}"
        f"\nleft: {one.left.chosen}\nright: {one.right.chosen}"
    )


def violations_table(identity: str, libraries: Sequence[LibraryChecks]) -> Table:
    """Returns a table with a row for each violated guideline."""
    rows = [
        [
            Cell(name),
            Cell(one.guideline.collective),
            number(one.bytes, format_bytes(one.bytes)),
            Cell(one.guideline.text, mark="wide"),
            estimated(one.ratio, "bad"),
            Cell(one.left.chosen, mark="wide"),
            Cell(one.right.chosen, mark="wide"),
        ]
        for library in libraries
        for spec, name in _SIDES
        for one in violations(library.checks, spec)
    ]
    columns = [
        Column("by"),
        Column("collective"),
        Column("size", number=True),
        Column("guideline"),
        Column("ratio", number=True),
        Column("spec on the left"),
        Column("spec on the right"),
    ]
    caption = "Guidelines that are violated beyond noise, with the specs chosen on both sides."
    groups = [
        (library.title, sum(len(violations(library.checks, spec)) for spec, _ in _SIDES))
        for library in libraries
    ]
    groups = [group for group in groups if group[1]]
    return Table(identity, "Violations", caption, columns, rows, (0, 1, 2), groups)


def _place(found: Guidelines) -> str:
    return found.where


KIND = Kind(parse_guidelines, sections, _place)
