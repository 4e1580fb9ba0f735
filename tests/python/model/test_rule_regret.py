# SPDX-License-Identifier: Apache-2.0
"""The built-in rule against the schedule walker, on the machines from which its figures are derived."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stretto import _core
from stretto.model.rule_regret import RULED, RuleJudge, grid, machine_in_use, mean_regret
from stretto.model.walker import Call, Model
from stretto.support.units import parse_sizes, size_text

TOPOLOGIES = ["nodes=4,ppn=1", "nodes=8,ppn=1", "nodes=9,ppn=1", "nodes=4,ppn=2"]
SIZES = parse_sizes("1KiB..16MiB:4")
MACHINES = ["altec", "bluewaters", "lab"]


@pytest.mark.parametrize("machine", MACHINES)
def test_blocking_calls_lose_little_against_the_best(machine: str) -> None:
    judge = RuleJudge(Model(machine_in_use(machine)))
    cases = [judge.case(call) for call in grid(RULED, TOPOLOGIES, SIZES)]
    print(f"{machine}: the rule is {100 * mean_regret(cases):.1f} % slower than the best (mean)")
    assert mean_regret(cases) < 0.14


@pytest.mark.parametrize("machine", MACHINES)
def test_blocking_calls_are_not_slower_than_a_good_library(machine: str) -> None:
    judge = RuleJudge(Model(machine_in_use(machine)))
    for call in grid(RULED, TOPOLOGIES, SIZES):
        case = judge.case(call)
        assert case.seconds < 1.15 * case.native, case


def test_other_figures_make_another_choice() -> None:
    judge = RuleJudge(Model(machine_in_use("lab")))
    call = Call("bcast", 16 << 20, "nodes=8,ppn=1")
    assert judge.choice(call).startswith("chain")
    assert judge.choice(call, {"bcast": 1 << 30}) == "native"


def test_figures_that_there_are_not_are_refused() -> None:
    topology = _core.Topology("nodes=8,ppn=1")
    with pytest.raises(ValueError, match="the rule has no figure tea"):
        _core.choose("bcast", 8, topology, {"tea": 1})


def test_the_script_finds_its_figures_in_the_text() -> None:
    text = (Path(__file__).parents[3] / "src" / "select" / "rule_text.hpp").read_text(encoding="utf-8")
    assert _core.rule_text() in text
    for name, size in _core.rule_constants().items():
        assert len(re.findall(rf"(?<!\w){name} = {size_text(size)}\b", text)) == 1, name


def test_the_figures_are_powers_of_two() -> None:
    assert all(value & (value - 1) == 0 and value >= 512 for value in _core.rule_constants().values())
