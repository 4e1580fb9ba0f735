# SPDX-License-Identifier: Apache-2.0
"""The speed that Stretto must reach on the papers' clusters, in virtual time, which is deterministic."""

from __future__ import annotations

import pytest

from stretto.model.walker import Call, Model, load_machine
from stretto_research.reproduce.node_aware import crossover
from stretto_research.reproduce.pipelined import not_overlapped
from stretto_research.simulate.jobs import SELECTORS, Job, seconds_of
from stretto_research.simulate.platforms import load_platform

SIZES = tuple(8**step for step in range(1, 11))
OWN = (
    "recursive_doubling",
    "rabenseifner",
    "rabenseifner:segments=2",
    "rabenseifner:segments=4",
    "recursive_multiplying:radix=3",
    "ring",
    "ring:segments=2",
    "ring:segments=4",
    "ring:segments=8",
    "ring:segments=16",
)


@pytest.mark.parametrize(
    "nodes", [pytest.param(7, marks=pytest.mark.long), 8, pytest.param(9, marks=pytest.mark.long)]
)
def test_the_best_of_ours_is_as_fast_as_any_library_and_as_the_links(nodes: int) -> None:
    altec = load_platform("altec")
    own = seconds_of([Job(altec, nodes, spec, SIZES, data=False) for spec in OWN])
    libraries = seconds_of(
        [Job(altec, nodes, "native", SIZES, selector=selector, data=False) for selector in SELECTORS]
    )
    bound = 11.77e9 * nodes / (2 * (nodes - 1))
    for size in SIZES:
        best = min(seconds[size] for seconds in own)
        for selector, seconds in zip(SELECTORS, libraries, strict=True):
            # SMPI's Intel MPI takes an algorithm for powers of two at 32 KiB, and refuses.
            if (selector, size, nodes) != ("intelmpi", 32768, 9):
                assert best <= 1.02 * seconds[size], (selector, size)
        if size >= 16 << 20:
            assert size / best >= 0.97 * bound, size


def test_pipelining_hides_the_arithmetic() -> None:
    sizes = (16 << 20, 64 << 20, 256 << 20, 1 << 30)
    altec = load_platform("altec")
    plain, plain_without, piped, piped_without = seconds_of(
        [
            Job(altec, 8, spec, sizes, data=False, arithmetic=arithmetic)
            for spec in ("ring", "ring:segments=4")
            for arithmetic in (True, False)
        ]
    )
    for size in sizes:
        assert 0.28 <= not_overlapped(plain, plain_without, size) <= 0.37
        assert not_overlapped(piped, piped_without, size) < 0.10


@pytest.mark.long
def test_small_messages_on_a_thousand_ranks() -> None:
    sizes = (8, 64, 512, 2048, 8192)
    platform = load_platform("bluewaters", 64)
    jobs = {
        spec: Job(platform, 64, spec, sizes, 16, data=False) for spec in ("nap", "smp", "recursive_doubling")
    }
    times = dict(zip(jobs, seconds_of(list(jobs.values())), strict=True))
    for size in sizes:
        if size <= 2048:
            assert times["nap"][size] < min(times["smp"][size], times["recursive_doubling"][size]), size
    walker = Model(load_machine("bluewaters"))
    shape = "nodes=64,ppn=16,sockets=2"
    walked = {
        spec: {
            size: walker.predict(Call("allreduce", size, shape), spec, engine=False).seconds for size in sizes
        }
        for spec in ("nap", "smp")
    }
    simulated = crossover(times["smp"], times["nap"])
    modelled = crossover(walked["smp"], walked["nap"])
    assert 2048 <= simulated <= 8192
    assert 0.5 <= simulated / modelled <= 2
