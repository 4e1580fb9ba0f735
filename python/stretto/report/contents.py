# SPDX-License-Identifier: Apache-2.0
"""Puts the page together: the sections for which there are inputs, and the subtitle."""

from __future__ import annotations

from stretto.report import calls, choices, machine, profile, study, traces
from stretto.report.inputs import Inputs
from stretto.report.page import Section, render
from stretto.support.errors import StrettoError


def page_sections(found: Inputs) -> list[Section]:
    """Returns the sections for which there are inputs."""
    return [
        *study.sections(found.studies),
        *choices.sections(found.tables),
        *(section for kind, read in found.others.values() for section in kind.sections(read)),
        *machine.sections(found.machines),
        *calls.sections(found.statistics),
        *profile.sections(found.profiles),
        *traces.sections(found.traces),
    ]


def page_text(found: Inputs) -> str:
    """Returns the HTML page. Raises StrettoError if there is nothing to show."""
    sections = page_sections(found)
    if not sections:
        raise StrettoError(f"{', '.join(found.files)}: nothing to show: there is no result in it")
    places = dict.fromkeys(study.where for study in found.studies)
    places |= dict.fromkeys(kind.where(one) for kind, read in found.others.values() for one in read)
    libraries = dict.fromkeys(run.name for study in found.studies for run in study.runs)
    subtitle = "; ".join(filter(None, [*places, *libraries]))
    return render("MPI collectives: measured, chosen, explained", subtitle, sections, found.files)
