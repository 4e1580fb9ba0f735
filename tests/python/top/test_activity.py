# SPDX-License-Identifier: Apache-2.0
"""The activity of ranks between two samples, and the rank for which the others wait."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from stretto.top.activity import Job, Now, RankActivity, Rates, activity_between
from stretto.top.page import parse_page
from stretto.top.reader import Sample
from stretto.top.view import show_jobs

from .made_pages import MadeThread, made_page

SECOND = 10**9


def sample(at: int, *threads: MadeThread, is_first: bool = False) -> Sample:
    page = parse_page(made_page(*threads))
    assert page is not None
    return Sample(at, page, is_first)


def test_rates() -> None:
    before = sample(5 * SECOND, MadeThread(counts={"allreduce": (10, 80, 0)}), is_first=True)
    after = sample(
        7 * SECOND, MadeThread(counts={"allreduce": (30, 1080, SECOND // 2), "bcast": (2, 8, SECOND // 2)})
    )
    found = activity_between(12, before, after)
    assert found.rates == Rates(11.0, 504.0, 0.5)
    assert found.collectives == {"allreduce": Rates(10.0, 500.0, 0.25), "bcast": Rates(1.0, 4.0, 0.25)}
    assert found.totals["allreduce"].calls == 30
    assert found.now is None


def test_a_call_that_goes_on_counts() -> None:
    waits = MadeThread(now="barrier", since=4 * SECOND)
    found = activity_between(12, sample(5 * SECOND, waits), sample(7 * SECOND, waits))
    assert found.rates.inside == 1.0
    assert found.now == Now("barrier", 0, 3.0, False)


def test_a_call_that_began_before_anybody_looked() -> None:
    waits = MadeThread(now="barrier", watched_from=5 * SECOND)
    found = activity_between(12, sample(5 * SECOND, waits), sample(6 * SECOND, waits))
    assert found.rates.inside == 1.0
    assert found.now == Now("barrier", 0, 1.0, True)


def test_a_call_that_ends_counts_once() -> None:
    before = sample(5 * SECOND, MadeThread(now="bcast", since=4 * SECOND))
    after = sample(7 * SECOND, MadeThread(counts={"bcast": (1, 8, 2 * SECOND)}))
    assert activity_between(12, before, after).rates.inside == 0.5


def test_threads_add_up() -> None:
    before = sample(5 * SECOND, MadeThread(), MadeThread())
    busy = MadeThread(counts={"bcast": (1, 8, SECOND // 4)})
    waits = MadeThread(now="allreduce", since=5 * SECOND + SECOND // 2)
    found = activity_between(12, before, sample(6 * SECOND, busy, waits))
    assert found.rates.inside == 0.75
    assert found.now is not None
    assert found.now.collective == "allreduce"


def test_nothing_is_known_of_an_interval_in_which_nobody_watched() -> None:
    before = sample(5 * SECOND, MadeThread())
    after = sample(9 * SECOND, MadeThread(counts={"bcast": (4, 8, 0)}), is_first=True)
    assert activity_between(12, before, after).rates == Rates(1.0, 2.0, None)


@pytest.mark.parametrize(
    ("inside", "awaited"),
    [
        ([0.9, 0.1, 0.8], 1),
        ([0.5, 0.45, 0.55], None),
        ([0.9, 0.1, 0.15], None),  # two are late
        ([0.9], None),
        ([0.9, None], None),
    ],
)
def test_for_which_rank_the_others_wait(inside: list[float | None], awaited: int | None) -> None:
    here = [RankActivity(rank, 1, Rates(1, 1, one), {}, {}, None) for rank, one in enumerate(inside)]
    found = Job(4, 1, "", 0, "", here).awaited
    assert (None if found is None else found.rank) == awaited


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (31.2, "rank 1 has not come to a call; the others are in bcast of 8 B for 31.2 s"),
        (0.3, "rank 1 waits least (0 %; the others 90 %): they wait for it"),
    ],
)
def test_the_last_line_names_that_rank(seconds: float, told: str) -> None:
    waits = Now("bcast", 8, seconds, is_longer=False)
    here = [
        RankActivity(rank, 1, Rates(1, 1, inside), {}, {}, now)
        for rank, (inside, now) in enumerate([(0.9, waits), (0.0, None), (0.9, waits)])
    ]
    shown = StringIO()
    show_jobs([Job(3, 1, "", 0, "", here)], Console(file=shown, width=100))
    assert shown.getvalue().splitlines()[-1] == told
