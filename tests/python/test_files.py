# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stretto.errors import StrettoError
from stretto.files import write_atomically


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")))
def test_a_file_holds_what_was_written_and_nothing_lies_beside_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.json"
    write_atomically(file, text)
    assert file.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_is_one_line_and_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("old")
    with pytest.raises(StrettoError, match=r"nowhere/a\.json could not be written: No such file") as error:
        write_atomically(tmp_path / "nowhere" / "a.json", "new")
    assert "\n" not in str(error.value)
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "\ud800")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
