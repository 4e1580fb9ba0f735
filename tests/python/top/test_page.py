# SPDX-License-Identifier: Apache-2.0
"""Pages of ranks, whole and broken."""

from __future__ import annotations

import pytest

from stretto.top.page import Count, PageError, parse_page

from .made_pages import MadeThread, made_page


def test_a_page() -> None:
    thread = MadeThread(
        now="bcast", bytes_now=4096, since=100, watched_from=90, counts={"allreduce": (3, 24, 1000)}
    )
    page = parse_page(made_page(thread, rank=1))
    assert page is not None
    assert (page.rank, page.ranks, page.nodes, page.job, page.pid) == (1, 2, 1, 5, 12)
    assert (page.library, page.began) == ("Open MPI v4.1.4", 1e9)
    (found,) = page.threads
    assert (found.now, found.bytes_now, found.since, found.watched_from) == ("bcast", 4096, 100, 90)
    assert found.counts["allreduce"] == Count(3, 24, 1000)
    assert found.counts["barrier"] == Count()


def test_the_place_of_many_threads_has_counts_and_no_state() -> None:
    shared = MadeThread(now="barrier", is_shared=True, counts={"barrier": (1, 0, 0)})
    page = parse_page(made_page(MadeThread(), shared))
    assert page is not None
    assert page.threads[1].now is None
    assert page.threads[1].counts["barrier"].calls == 1


@pytest.mark.parametrize("magic", [bytes(8), b"strettO\0"])
def test_no_job(magic: bytes) -> None:
    assert parse_page(made_page(magic=magic)) is None


@pytest.mark.parametrize("length", [0, 100, 600, 1100])
def test_a_page_that_is_cut_off(length: int) -> None:
    with pytest.raises(PageError, match="cut off"):
        parse_page(made_page()[:length])


def test_another_version() -> None:
    with pytest.raises(PageError, match="version 2, and this stretto reads version 1"):
        parse_page(made_page(version=2))


def test_a_number_that_is_no_collective() -> None:
    content = bytearray(made_page(MadeThread()))
    content[576 + 4] = 200
    page = parse_page(bytes(content))
    assert page is not None
    assert page.threads[0].now is None
