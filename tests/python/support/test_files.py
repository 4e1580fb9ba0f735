# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stretto.support.errors import StrettoError
from stretto.support.files import (
    check_files,
    locked,
    make_folder,
    open_atomically,
    write_all,
    write_atomically,
)


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


def test_a_device_and_a_link_stay_what_they_are(tmp_path: Path) -> None:
    write_atomically(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(StrettoError, match="/dev/full could not be written: No space left on device"):
        write_atomically(Path("/dev/full"), "text")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "a.json")
    write_atomically(link, "text")
    assert link.is_symlink()
    assert (tmp_path / "a.json").read_text() == "text"


def test_what_lies_where_a_name_could_be_foreseen_is_left_alone(tmp_path: Path) -> None:
    file, victim = tmp_path / "a.json", tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".a.json.{os.getpid()}").symlink_to(victim)
    check_files([file])
    # Two writers at the same time, such as processes with the same id on two nodes.
    with open_atomically(file) as outer:
        write_atomically(file, "inner")
        outer.write(b"outer")
    assert file.read_text() == "outer"
    assert victim.read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 3


def test_no_link_of_another_user_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("precious")
    link.symlink_to(victim)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    if link.lstat().st_uid == 0:
        os.chown(link, 54322, -1, follow_symlinks=False)
    with pytest.raises(StrettoError, match="link is a link of another user"):
        check_files([link])
    with pytest.raises(StrettoError, match="link is a link of another user"):
        write_atomically(link, "new")
    assert victim.read_text() == "precious"


def test_a_lock_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (tmp_path / "lock").symlink_to(victim)
    with pytest.raises(OSError, match="Too many levels"), locked(tmp_path / "lock"):
        pass
    assert not victim.exists()


def test_a_block_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def interrupt() -> None:
        with open_atomically(tmp_path / "a.json") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert not list(tmp_path.iterdir())


def test_all_are_written_though_one_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(
        StrettoError, match=r"^/proc/a could not be written: .*; /proc/b could not be written: "
    ):
        write_all(
            lambda: write_atomically(Path("/proc/a"), ""),
            lambda: write_atomically(tmp_path / "a.json", "text"),
            lambda: write_atomically(Path("/proc/b"), ""),
        )
    assert (tmp_path / "a.json").read_text() == "text"


def test_what_could_be_written_is_left_alone(tmp_path: Path) -> None:
    there, new = tmp_path / "there.json", tmp_path / "new.png"
    there.write_text("old")
    check_files([there, None, Path("/dev/null")], [new, None])
    make_folder(tmp_path / "some" / "folder")
    assert there.read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["some", "there.json"]
    assert not list((tmp_path / "some" / "folder").iterdir())


def test_a_full_disk_is_found_out_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A full disk still creates empty files.
    real = Path.open

    def full(path: Path, *arguments: Any, **more: Any) -> Any:
        return real(Path("/dev/full"), "wb") if path.parent == tmp_path else real(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(StrettoError, match=r"a\.json cannot be written: No space left on device"):
        check_files([tmp_path / "a.json"])
    with pytest.raises(StrettoError, match=r"--output .*: No space left on device"):
        make_folder(tmp_path)


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(StrettoError, match="is a folder; name a file in it"):
        check_files([tmp_path])
