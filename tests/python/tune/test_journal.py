# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate
from stretto.tune.findings import Choice
from stretto.tune.journal import Journal, choice_from_json, choice_to_json, read_journal

ESTIMATE = Estimate(1.5, 1.25, 2.0, 0.96)
CHOICE = Choice(65536, "ring", ESTIMATE, ESTIMATE, ESTIMATE, "linear", ESTIMATE)
PRINT = {"mpi": "Open MPI 4.1.4", "ppn": [1, 1]}


def write(path: Path) -> Journal:
    journal = Journal(path, PRINT, keeps=False)
    journal.measuring("allreduce", 65536, ["native", "ring", "native(linear)"])
    journal.measured("allreduce", 65536, {"native": [3.0, 1.0, 2.0], "ring": [1.0, 1.0, 1.0]})
    journal.chosen("allreduce", CHOICE)
    journal.remark("allreduce", "allreduce: slow")
    return journal


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    write(path).close(remove=False)
    recorded = read_journal(path)
    assert recorded is not None
    assert recorded.fingerprint == PRINT
    assert recorded.findings["allreduce"].choices == {65536: CHOICE}
    assert recorded.findings["allreduce"].remarks == ["allreduce: slow"]
    assert recorded.times == {"allreduce": {65536: {"native": 2.0, "ring": 1.0}}}
    assert recorded.sizes == 1
    assert recorded.suspects == []
    assert choice_from_json(choice_to_json(CHOICE)) == CHOICE


def test_the_librarys_own_that_was_tried_when_a_job_ended_is_suspect(tmp_path: Path) -> None:
    journal = write(tmp_path / "journal")
    journal.measuring("allreduce", 1, ["native", "ring", "swing", "native(linear)"])
    journal.ended()
    journal.close(remove=False)
    recorded = read_journal(tmp_path / "journal")
    assert recorded is not None
    assert recorded.suspects == ["allreduce native(linear)"]


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "journal"
    write(path).close(remove=False)
    path.write_bytes(path.read_bytes()[:-cut])
    more = Journal(path, PRINT, keeps=True)
    more.remark("allreduce", "allreduce: on")
    more.close(remove=False)
    recorded = read_journal(path)
    assert recorded is not None
    assert recorded.findings["allreduce"].remarks[-1] == "allreduce: on"
    assert recorded.sizes == 1


@pytest.mark.parametrize(
    "text", ["", "x\n", "{}\n", '{"format": "stretto-table", "version": 1}\n', "[1]\n", "\xff\n"]
)
def test_what_is_no_journal(tmp_path: Path, text: str) -> None:
    path = tmp_path / "journal"
    assert read_journal(path) is None
    path.write_bytes(text.encode("latin-1"))
    assert read_journal(path) is None


@pytest.mark.parametrize("keeps", [False, True])
def test_a_link_in_place_of_a_journal_is_not_followed(keeps: bool, tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "journal"
    victim.write_text("precious")
    path.symlink_to(victim)
    if keeps:
        with pytest.raises(StrettoError, match="cannot be written"):
            Journal(path, PRINT, keeps=True)
    else:
        Journal(path, PRINT, keeps=False).close(remove=False)
        assert not path.is_symlink()
    assert victim.read_text() == "precious"


def test_a_journal_that_is_done_with_is_removed(tmp_path: Path) -> None:
    write(tmp_path / "journal").close(remove=True)
    assert not (tmp_path / "journal").exists()
    with pytest.raises(StrettoError, match="cannot be written"):
        Journal(tmp_path / "nowhere" / "journal", PRINT, keeps=False)
