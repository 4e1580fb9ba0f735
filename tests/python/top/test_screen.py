# SPDX-License-Identifier: Apache-2.0
"""What a terminal shows of many jobs, and the keys that move it."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.text import Text

from stretto.top.activity import Job, jobs_between
from stretto.top.page import parse_page
from stretto.top.reader import Sample, user_of
from stretto.top.screen import QUIT, Screen, keys

from .made_pages import MadeThread, made_page

JOBS = [Job(2, 1, "Open MPI", 0.0, name, [], number) for number, name in ((7, "a"), (5, "b"), (9, "c"))]
LINES = [Text(f"line {number}") for number in range(60)]
HEIGHT = 24


def shown(screen: Screen, jobs: list[Job] = JOBS, lines: list[Text] = LINES) -> list[str]:
    return [line.plain for line in screen.visible(lines, jobs, HEIGHT)]


def test_what_does_not_fit_is_said_and_can_be_reached() -> None:
    screen = Screen()
    first = shown(screen)
    assert (len(first), first[0], first[-2]) == (HEIGHT, "line 0", "line 22")
    assert first[-1].startswith("all 3 jobs; lines 1-23 of 60; ")
    assert len(first[-1]) <= 80
    screen.press("down", JOBS, HEIGHT)
    assert shown(screen)[0] == "line 1"
    screen.press("page down", JOBS, HEIGHT)
    assert shown(screen)[0] == "line 23"
    for _ in range(3):
        screen.press("page down", JOBS, HEIGHT)
    assert shown(screen)[-2] == "line 59"
    assert "lines 38-60 of 60" in shown(screen)[-1]
    screen.press("up", JOBS, HEIGHT)
    assert shown(screen)[-2] == "line 58"


def test_what_fits_has_no_lines_to_scroll() -> None:
    screen = Screen()
    screen.press("down", JOBS[:1], HEIGHT)
    few = shown(screen, JOBS[:1], LINES[:5])
    assert few[:-1] == [line.plain for line in LINES[:5]]
    assert "lines 1" not in few[-1]
    assert "job" not in few[-1].partition(";")[0]


def test_a_job_is_chosen_and_stays_chosen() -> None:
    screen = Screen()
    assert screen.chosen(JOBS) == JOBS
    screen.press("n", JOBS, HEIGHT)
    screen.press("n", JOBS, HEIGHT)
    assert screen.chosen(JOBS) == [JOBS[1]]
    assert shown(screen)[-1].startswith("job 2 of 3; ")
    assert screen.chosen(JOBS[1:]) == [JOBS[1]]
    screen.press("p", JOBS, HEIGHT)
    assert screen.chosen(JOBS) == [JOBS[0]]
    screen.press("a", JOBS, HEIGHT)
    assert screen.chosen(JOBS) == JOBS


def test_all_are_shown_when_the_chosen_job_has_ended() -> None:
    screen = Screen(job=5)
    assert screen.chosen([JOBS[0], JOBS[2]]) == [JOBS[0], JOBS[2]]
    assert shown(screen, [JOBS[0], JOBS[2]])[-1].startswith("all 2 jobs; ")


def test_own_jobs_come_first_and_the_latest_of_them() -> None:
    samples = {}
    for number, (user, began) in enumerate((("alice", 9), ("", 1), ("", 5), ("bob", 2))):
        page = parse_page(made_page(MadeThread(), job=number))
        assert page is not None
        object.__setattr__(page, "began", float(began))
        rank = SimpleNamespace(pid=number, command="x", user=user)
        samples[Path(f"/proc/{number}/fd/3")] = rank, Sample(10**9, page, is_first=False)
    found = jobs_between(samples, samples)  # type: ignore[arg-type]
    assert [(one.user, one.began) for one in found] == [("", 5), ("", 1), ("alice", 9), ("bob", 2)]
    assert [one.number for one in found] == [2, 1, 0, 3]


def test_the_user_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path("/proc") / str(os.getpid())
    assert user_of(own) == ""
    monkeypatch.setattr(os, "getuid", lambda: own.stat().st_uid + 1)
    assert user_of(own) != ""


def test_keys_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, closefd=True) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        with keys() as next_key:
            for typed, name in ((b"\x1b[A", "up"), (b"\x1b[6~", "page down"), (b"n", "n"), (b"q", QUIT)):
                os.write(ours, typed)
                assert next_key(60) == name
            assert next_key(0.01) == ""
            os.close(ours)
            assert next_key(60) == QUIT
