# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from stretto.plots.pictures import new_figure, save_figure


@pytest.mark.parametrize(("name", "begin"), [("a.png", b"\x89PNG"), ("a", b"\x89PNG"), ("a.pdf", b"%PDF")])
def test_a_picture_is_of_the_format_that_its_name_says(name: str, begin: bytes, tmp_path: Path) -> None:
    figure = new_figure(4, 3)
    figure.subplots()
    save_figure(figure, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begin)
    assert [file.name for file in tmp_path.iterdir()] == [name]
