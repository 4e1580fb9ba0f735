# SPDX-License-Identifier: Apache-2.0
"""The listed choices of libraries take the same time as SimGrid's imitations of the libraries."""

from __future__ import annotations

import itertools

import pytest

from stretto._core import collectives, parse_spec, why_unsupported
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError
from stretto_research.simulate.jobs import Job, seconds_of
from stretto_research.simulate.library_choices import LIBRARIES, library_choice
from stretto_research.simulate.platforms import load_platform

POWERS_OF_TWO = tuple(1 << exponent for exponent in range(3, 31))
ALLREDUCE_SIZES = (8, 128, 1 << 10, 4 << 10, 8 << 10, 64 << 10, 512 << 10, 8 << 20)
# For larger messages SMPI may use reduce by scatter and gather, which sometimes crashes.
OTHER_SIZES = (1 << 10, 32 << 10, 256 << 10, 1 << 20)


def wrong_ones(library: str, collective: str, ranks: int, sizes: tuple[int, ...]) -> tuple[int, list[str]]:
    """Returns the number of compared choices, and the choices that take another time than the library."""
    platform = load_platform("altec", ranks)
    choices = {size: library_choice(library, collective, ranks, 1, size) for size in sizes}
    exact = tuple(size for size in sizes if choices[size].exact)
    by_spec = [
        (spec, tuple(run))
        for spec, run in itertools.groupby(exact, key=lambda size: choices[size].spec)
        if spec is not None
    ]
    jobs = [
        Job(platform, ranks, "native", exact, collective=collective, selector=library, data=False),
        *(Job(platform, ranks, spec, run, collective=collective, data=False) for spec, run in by_spec),
    ]
    native, *others = seconds_of(jobs)
    ours = {size: seconds for one in others for size, seconds in one.items()}
    wrong = [
        f"{size} bytes: {choices[size].spec} takes {ours[size] / native[size]:.3f} of the library's time"
        for size in exact
        if abs(ours[size] / native[size] - 1) > 0.03
    ]
    return len(exact), wrong


@pytest.mark.parametrize("ranks", [4, 7, 8, 9, 16])
@pytest.mark.parametrize("library", ["openmpi", "mpich", "mvapich2"])
def test_an_allreduce_takes_the_time_of_its_twin(library: str, ranks: int) -> None:
    compared, wrong = wrong_ones(library, "allreduce", ranks, ALLREDUCE_SIZES)
    assert wrong == []
    assert compared >= len(ALLREDUCE_SIZES) - 1


@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_so_does_intel_mpi_at_powers_of_two(ranks: int) -> None:
    # With other numbers of ranks, SMPI's imitation fails at some sizes: an algorithm needs powers of two.
    compared, wrong = wrong_ones("intelmpi", "allreduce", ranks, ALLREDUCE_SIZES)
    assert wrong == []
    assert compared >= 4


@pytest.mark.parametrize(
    ("library", "collective", "ranks", "sizes"),
    [
        # SMPI makes communicators of nodes within the first call of its knomial tree, for shorter messages.
        ("openmpi", "bcast", 9, (16 << 10, 32 << 10, 256 << 10, 2 << 20)),
        ("openmpi", "reduce_scatter", 8, OTHER_SIZES),
        ("openmpi", "allgather", 8, OTHER_SIZES),
        ("mpich", "bcast", 9, OTHER_SIZES),
        ("mpich", "reduce", 9, OTHER_SIZES),
        ("mpich", "allgather", 9, OTHER_SIZES),
        ("mvapich2", "bcast", 8, (1 << 10, 64 << 10)),
        ("mvapich2", "reduce", 8, OTHER_SIZES),
        ("mvapich2", "reduce_scatter", 8, OTHER_SIZES),
        ("mvapich2", "allgather", 8, OTHER_SIZES),
        ("intelmpi", "reduce", 8, OTHER_SIZES),
        ("intelmpi", "reduce_scatter", 16, (1 << 10, 256 << 10)),
        ("openmpi", "alltoall", 17, (64, 1 << 10, 4 << 10)),
        ("mpich", "alltoall", 8, (64, 1 << 10, 1 << 20)),
        ("openmpi", "gather", 9, OTHER_SIZES),
        ("mpich", "gather", 16, OTHER_SIZES),
        ("mvapich2", "alltoallv", 8, OTHER_SIZES),
        ("mpich", "barrier", 9, (4,)),
    ],
)
def test_other_collectives_take_the_time_of_their_twins(
    library: str, collective: str, ranks: int, sizes: tuple[int, ...]
) -> None:
    compared, wrong = wrong_ones(library, collective, ranks, sizes)
    assert wrong == []
    assert compared == len(sizes)


@pytest.mark.parametrize(("nodes", "ppn", "twin"), [(4, 2, "smp(scatter_allgather)"), (6, 4, "smp(binomial)"),
                                                    (9, 2, "smp(scatter_allgather)")])  # fmt: skip
def test_mvapich2_broadcasts_by_how_many_leaders_there_are(nodes: int, ppn: int, twin: str) -> None:
    size = 2 << 20
    assert library_choice("mvapich2", "bcast", nodes * ppn, ppn, size).spec == twin
    platform = load_platform("altec", nodes)
    native, ours = seconds_of(
        [
            Job(platform, nodes, "native", (size,), ppn, "bcast", "mvapich2", data=False),
            Job(platform, nodes, twin, (size,), ppn, "bcast", data=False),
        ]
    )
    assert abs(ours[size] / native[size] - 1) < 0.03


@pytest.mark.parametrize("collective", collectives())
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_choice_is_a_spec_that_fits(library: str, collective: str) -> None:
    for nodes, ppn in ((2, 1), (3, 1), (6, 1), (33, 1), (64, 8), (5, 3), (2, 16), (1, 4), (1000, 1)):
        where = parse_topology(f"nodes={nodes},ppn={ppn}")
        for size in (1, *POWERS_OF_TWO, 10**8 + 4):
            choice = library_choice(library, collective, nodes * ppn, ppn, size)
            assert choice.algorithm
            assert choice.spec is not None or not choice.exact
            if choice.spec is not None:
                recipe = parse_spec(choice.spec, collective).recipe
                problem = why_unsupported(collective, recipe, where)
                assert not problem or nodes == 1, f"{nodes} x {ppn}, {size}: {choice.spec}: {problem}"


def test_they_turn_where_they_are_known_to() -> None:
    def specs(library: str, ranks: int) -> list[str | None]:
        return [
            library_choice(library, "allreduce", ranks, 1, size).spec
            for size in (64, 4 << 10, 8 << 10, 1 << 24)
        ]

    assert specs("openmpi", 8) == ["recursive_doubling", "recursive_doubling", "rabenseifner", "rabenseifner"]
    assert specs("openmpi", 9) == specs("openmpi", 8)
    assert specs("mpich", 8) == ["recursive_doubling"] * 4
    assert specs("mvapich2", 8) == ["recursive_doubling", *["rabenseifner"] * 3]
    assert specs("intelmpi", 8)[-1] == "ring"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lam", "allreduce", 8, 1, 8), "'lam' is not a known library"),
        (("mpich", "alltoallw", 8, 1, 8), "'alltoallw': the choices of libraries are unknown"),
        (("mpich", "allreduce", 1, 1, 8), "1 ranks, 1 a node"),
        (("mpich", "allreduce", 9, 2, 8), "9 ranks, 2 a node"),
    ],
)
def test_what_is_not_known_is_an_error(arguments: tuple[str, str, int, int, int], message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        library_choice(*arguments)
