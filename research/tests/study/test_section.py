# SPDX-License-Identifier: Apache-2.0
"""The section of `stretto report` on guidelines."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.python.report.test_report import SCRIPT, check_damaged, odd, poisoned

from stretto.plots.pictures import svg_text
from stretto.report.contents import page_sections, page_text
from stretto.report.inputs import read_inputs
from stretto.report.page import Chart, Table


def test_maps_and_violations(more_samples: Path) -> None:
    inputs = read_inputs([more_samples])
    assert inputs.files == ["study.json", "guidelines.json"]
    section = next(one for one in page_sections(inputs) if one.id == "guidelines")
    chart, table = section.items
    assert isinstance(chart, Chart)
    assert isinstance(table, Table)
    assert (chart.id, table.id) == ("guidelines-1", "violations")
    assert chart.file == "guidelines-open-mpi-4.1.4-8-ranks-on-8-nodes"
    figure = chart.draw()
    assert [axes.get_title() for axes in figure.axes] == ["the library", "Stretto"]
    assert [len(axes.patches) for axes in figure.axes] == [4, 4]
    assert sum("!" in text.get_text() for text in figure.axes[0].texts) == 3
    assert "allreduce ≤ reduce + bcast, 1 MiB\n2.00" in html.unescape(svg_text(figure))
    assert [(one.value, one.warning) for one in section.figures] == [("3 → 0", False)]
    assert len(table.rows) == 3
    assert "an emulated cluster" in page_text(inputs)


def test_markup_from_files_is_only_text(more_samples: Path, tmp_path: Path) -> None:
    files = []
    for kind in ("guidelines", "predictions"):
        content = poisoned(json.loads((more_samples / f"{kind}.json").read_text()))
        files.append(tmp_path / f"{kind}<b>.json")
        files[-1].write_text(json.dumps(content))
    page = page_text(read_inputs(files))
    assert "alert(1)" in page
    assert SCRIPT not in page


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(
    kind=st.sampled_from(("guidelines", "predictions")), where=st.integers(0), value=odd, drop=st.booleans()
)
def test_a_file_that_was_damaged_is_shown_or_refused_in_one_line(
    more_samples: Path, tmp_path: Path, kind: str, where: int, value: Any, drop: bool
) -> None:
    check_damaged(more_samples / f"{kind}.json", tmp_path, where, value, drop)
