# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from stretto._core import algorithms
from stretto.support.paths import find_simulate_program
from stretto_research.simulate.known_differences import KNOWN, Case, Known, Row
from stretto_research.simulate.model_comparison import (
    TOLERATED,
    all_cases,
    compare,
    machine_as_simulated,
    summarize,
    unexplained,
)
from stretto_research.simulate.smpi import find_smpirun

pytestmark = pytest.mark.skipif(
    find_smpirun() is None or find_simulate_program() is None, reason="SimGrid is not installed"
)
SIZES = (8, 64 << 10, 16 << 20)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return compare(all_cases((7, 8), ((2, 8),), SIZES))


def test_every_algorithm_is_there(rows: list[Row]) -> None:
    compared = {(row.case.collective, row.case.spec) for row in rows}
    of_one_node = {
        ("allreduce", "two_shot"),
        ("allreduce", "cache_leaders(recursive_multiplying:radix=4)"),
        ("allreduce", "cache_lanes(two_shot)"),
        ("reduce_scatter", "direct"),
    }
    assert compared == compared | {(one.collective, one.usual) for one in algorithms()} - of_one_node
    assert not compared & of_one_node


def test_the_walker_and_smpi_agree_but_for_known_reasons(rows: list[Row]) -> None:
    assert unexplained(rows) == []


def example_case(known: Known) -> Case:
    """Returns a call that shows the difference."""
    nodes, ppn, size = known.example
    machine = "altec" if ppn == 1 else "bluewaters"
    return Case(machine, known.collective, known.spec, nodes, ppn, (size,))


def test_every_known_reason_is_needed() -> None:
    for known, row in zip(KNOWN, compare([example_case(known) for known in KNOWN]), strict=True):
        assert known.explains(row)
        assert abs(row.walker_off) > TOLERATED, row


def test_a_summary_has_every_row_and_what_is_over(rows: list[Row]) -> None:
    summaries = summarize(rows)
    assert sum(one.rows for one in summaries) == len(rows)
    chain = next(one for one in summaries if (one.collective, one.spec) == ("bcast", "chain:segments=4"))
    assert chain.walker.largest > TOLERATED
    assert {row.bytes for row in chain.over} == {64 << 10}
    assert chain.formula is None
    assert next(one for one in summaries if one.spec == "ring").formula is not None


def test_a_machine_as_simulated_waits_from_one_size_on() -> None:
    altec = machine_as_simulated("altec").protocols("network")
    assert [(one.begin, one.synchronous) for one in altec] == [(0, False), (64 << 10, True)]
    bluewaters = machine_as_simulated("bluewaters")
    for level in ("socket", "node"):
        rows = bluewaters.protocols(level)
        assert [(one.begin, one.synchronous) for one in rows] == [(0, False), (8 << 10, True)]
        assert rows[0].bandwidth == 2e9
