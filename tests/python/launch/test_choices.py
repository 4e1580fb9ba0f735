# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from stretto import _core
from stretto.launch.choices import Online, forced_spec, online, variable_of, why_nothing_is_learnt


@pytest.mark.parametrize("one", list(Online))
def test_every_value_is_one_that_the_library_knows(one: Online) -> None:
    assert _core.complaints("STRETTO_ONLINE", one.value) == []
    assert online({"STRETTO_ONLINE": one.value}) is one
    assert one.meaning


def test_what_is_not_set_or_wrong_is_the_guard() -> None:
    assert online({}) is Online.GUARD
    assert online({"STRETTO_ONLINE": "always"}) is Online.GUARD
    assert Online.GUARD.setting == "STRETTO_ONLINE is not set"
    assert Online.OFF.setting == "STRETTO_ONLINE=0"


def test_who_uses_and_who_measures() -> None:
    assert {one for one in Online if not one.uses_decisions} == {Online.OFF}
    assert {one for one in Online if not one.measures} == {Online.OFF, Online.FREEZE}


def test_forced_specs() -> None:
    assert all(_core.complaints(variable_of(name), "native") == [] for name in _core.collectives())
    environment = {"STRETTO_ALLREDUCE": "ring", "STRETTO_BCAST": "auto", "STRETTO_REDUCE": ""}
    found = [forced_spec(name, environment) for name in ("allreduce", "bcast", "reduce", "allgather")]
    assert found == ["ring", "", "", ""]


def test_what_keeps_jobs_from_learning() -> None:
    assert why_nothing_is_learnt({"STRETTO_REPRODUCIBLE": "0"}) == ""
    assert why_nothing_is_learnt({"STRETTO_REPRODUCIBLE": "1"}) == "STRETTO_REPRODUCIBLE=1"
    assert why_nothing_is_learnt({"STRETTO_CHECK": "1"}) == "STRETTO_CHECK=1"
