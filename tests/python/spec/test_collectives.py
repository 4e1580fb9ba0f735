# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import get_args

import pytest
from typer.testing import CliRunner

from stretto import _core
from stretto.cli.main import app
from stretto.cli.tune import parse_kinds
from stretto.results.file import CollectiveName
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.recipes import check_sized, sized_collectives
from stretto.support.errors import StrettoError


def test_every_collective_with_algorithms_can_be_measured_and_read_back() -> None:
    assert {one.algorithms for one in COLLECTIVES.values()} == set(_core.collectives())
    assert get_args(CollectiveName) == tuple(COLLECTIVES)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_the_tools_and_the_core_say_the_same_of_a_collective(name: str) -> None:
    one = COLLECTIVES[name]
    assert one.name == name
    assert one.function == f"MPI_{name.capitalize()}"
    assert one.has_root == _core.has_root(one.algorithms)
    # If ranks do not know the size, a call has lengths or no message.
    if _core.is_never_cut(one.algorithms):
        assert one.has_lengths or not one.has_message


def test_specs_are_chosen_by_size_where_ranks_know_it() -> None:
    unknown = {"alltoallv", "gatherv", "scatterv", "barrier"}
    assert set(sized_collectives()) == set(_core.collectives()) - unknown
    for name in _core.collectives():
        if name in unknown:
            with pytest.raises(StrettoError, match=f"{name}: its ranks know no common size"):
                check_sized(name)
        else:
            assert check_sized(name) == name
    with pytest.raises(StrettoError, match="there is no collective 'all'"):
        check_sized("all")


def test_a_barrier_is_not_tuned() -> None:
    assert [kind.name for kind in parse_kinds("alltoall,scan", "blocking,non-blocking")] == [
        "alltoall",
        "ialltoall",
        "scan",
        "iscan",
    ]
    with pytest.raises(StrettoError, match="barrier: its ranks know no common size"):
        parse_kinds("allreduce,barrier", "blocking")


@pytest.mark.parametrize("collective", _core.collectives())
def test_every_collective_is_explained(collective: str) -> None:
    options = ["--machine", "altec", "--nodes", "3", "--ppn", "2", "--bytes", "64KiB", "--top", "3"]
    result = CliRunner().invoke(app, ["explain", collective, *options])
    assert result.exit_code == 0, result.output
    assert "*: in force" in result.output
