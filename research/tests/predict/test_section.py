# SPDX-License-Identifier: Apache-2.0
"""The section of `stretto report` on predictions."""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.report.contents import page_sections
from stretto.report.inputs import read_inputs
from stretto.report.page import Chart, Table
from stretto.support.errors import StrettoError
from stretto_research.predict.file import Prediction, Predictions, median_error, worst


def test_the_error_of_predictions(more_samples: Path) -> None:
    inputs = read_inputs([more_samples / "predictions.json"])
    ((_, (found,)),) = inputs.others.values()
    assert isinstance(found, Predictions)
    assert median_error(found.predictions) == pytest.approx(0.25)
    far: Prediction = worst(found.predictions)
    assert (far.spec, round(far.error, 6)) == ("rabenseifner", -0.4)
    (section,) = page_sections(inputs)
    chart, table = section.items
    assert isinstance(chart, Chart)
    assert isinstance(table, Table)
    assert (section.id, chart.id, table.id) == ("theory", "theory-1", "theory-table")
    assert chart.file == "theory-sample-open-mpi-4.1.4"
    names = [text.get_text() for text in chart.draw().legends[0].get_texts()]
    assert names == ["allreduce ring", "allreduce rabenseifner"]
    assert [row[-1].mark for row in table.rows] == ["number", "number", "bad", "bad"]
    assert [(figure.value, figure.warning) for figure in section.figures] == [("25 %", False)]


def test_a_file_without_predictions_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(
        '{"format": "stretto-prediction", "version": 1, "machine": "", "mpi": "", "predictions": []}'
    )
    with pytest.raises(StrettoError, match="predict"):
        read_inputs([file])
