# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto_research.replay.horovod import Costs, Gradient, Settings, Training, coordination_bytes, fuse

KIB, MIB = 1 << 10, 1 << 20
MS = 1e-3
# One gigabyte per second, without latency.
PLAIN = Costs(0.0, lambda size: size / 1e9, lambda _: 0.0)

gradients = st.lists(
    st.tuples(st.integers(1, 300 * MIB), st.floats(0, 2, allow_nan=False)), min_size=1, max_size=40
).map(lambda rows: [Gradient(f"g{i}", size, ready) for i, (size, ready) in enumerate(rows)])
settings = st.builds(
    Settings,
    fusion=st.integers(0, 256 * MIB),
    cycle=st.floats(1e-5, 0.1),
    interference=st.floats(0, 1),
)
costs = st.builds(
    lambda coordination, latency, bandwidth, copy: Costs(
        coordination, lambda size: latency + size / bandwidth, lambda size: size / copy
    ),
    st.floats(0, 1e-3),
    st.floats(1e-6, 1e-3),
    st.floats(1e6, 1e10),
    st.floats(1e9, 1e11),
)


@given(gradients, settings, costs, st.integers(1, 4))
def test_every_gradient_is_summed_once_per_step_when_it_is_ready(
    given_: list[Gradient], settings_: Settings, costs_: Costs, ppn: int
) -> None:
    training = Training(given_, settings_, costs_, ppn)
    for _ in range(3):
        step = training.step()
        summed = [one for message in step.messages for one in message.gradients]
        assert sorted(one.name for one in summed) == sorted(one.name for one in given_)
        assert all(
            message.begin >= one.ready - 1e-9 for message in step.messages for one in message.gradients
        )


@given(gradients, settings, costs, st.integers(1, 4), st.floats(1, 2))
def test_a_step_takes_at_least_its_computation_and_its_communication(
    given_: list[Gradient], settings_: Settings, costs_: Costs, ppn: int, slowness: float
) -> None:
    training = Training(given_, settings_, costs_, ppn)
    for _ in range(3):
        step = training.step(slowness)
        assert step.compute == pytest.approx(slowness * max(one.ready for one in given_))
        assert step.seconds >= step.compute - 1e-9
        assert step.seconds >= step.communication - 1e-9
        assert step.exposed == step.seconds - step.compute
        ends = [0.0, *(one.end for one in step.messages)]
        assert all(one.begin >= end - 1e-12 for one, end in zip(step.messages, ends, strict=False))
        assert step.seconds == ends[-1]


@given(gradients, settings, costs, st.integers(1, 4))
def test_only_a_single_gradient_is_longer_than_the_buffer(
    given_: list[Gradient], settings_: Settings, costs_: Costs, ppn: int
) -> None:
    for message in Training(given_, settings_, costs_, ppn).step().messages:
        assert len(message.gradients) == 1 or message.bytes <= settings_.buffer(ppn)


@given(gradients, settings, costs)
def test_steps_are_reproducible(given_: list[Gradient], settings_: Settings, costs_: Costs) -> None:
    one, other = (Training(given_, settings_, costs_) for _ in range(2))
    assert [one.step() for _ in range(3)] == [other.step() for _ in range(3)]


@given(gradients, settings, costs)
def test_free_communication_costs_a_cycle_at_most(
    given_: list[Gradient], settings_: Settings, costs_: Costs
) -> None:
    del costs_
    free = Costs(0.0, lambda _: 0.0, lambda _: 0.0)
    training = Training(given_, settings_, free)
    for _ in range(3):
        step = training.step()
        assert -1e-9 <= step.exposed <= settings_.cycle + 1e-9


def test_a_gradient_waits_for_the_next_cycle() -> None:
    # Ready at 2.5 ms; cycles begin every millisecond, so it is found at 3 ms.
    training = Training([Gradient("a", MIB, 2.5 * MS)], Settings(cycle=MS), PLAIN)
    assert training.step().seconds == pytest.approx(3 * MS + MIB / 1e9)
    # This took 1.05 ms, so the next cycle begins at once, with the next step.
    assert training.step().seconds == pytest.approx(3 * MS + MIB / 1e9)


def test_a_cycle_reaches_into_the_next_step() -> None:
    half = Gradient("a", 500_000, 2.5 * MS)
    training = Training([half], Settings(cycle=MS), PLAIN)
    assert training.step().seconds == pytest.approx(3.5 * MS)
    # The first cycle begins 0.5 ms after the step, then every millisecond: it is found at 2.5 ms.
    assert training.step().seconds == pytest.approx(3.0 * MS)


def test_two_gradients_of_one_cycle_are_one_message_if_they_fit() -> None:
    both = [Gradient("a", MIB, 2.1 * MS), Gradient("b", MIB, 2.2 * MS)]
    fused = Training(both, Settings(fusion=2 * MIB, cycle=MS), PLAIN).step()
    assert [one.bytes for one in fused.messages] == [2 * MIB]
    apart = Training(both, Settings(fusion=2 * MIB - 64, cycle=MS), PLAIN).step()
    assert [one.bytes for one in apart.messages] == [MIB, MIB]
    assert fused.seconds == pytest.approx(3 * MS + 2 * MIB / 1e9)
    assert apart.seconds == pytest.approx(fused.seconds)


def test_gradients_that_are_ready_during_a_message_go_after_it() -> None:
    first, second = Gradient("a", 10_000_000, 1 * MS), Gradient("b", 1_000_000, 3 * MS)
    step = Training([first, second], Settings(cycle=MS), PLAIN).step()
    times = [time for one in step.messages for time in (one.begin, one.end)]
    assert times == pytest.approx([1 * MS, 11 * MS, 11 * MS, 12 * MS])


def test_only_merged_gradients_are_copied() -> None:
    costly = Costs(0.0, lambda _: 0.0, lambda size: size / 1e9)
    one = Training([Gradient("a", MIB, 0.0)], Settings(), costly).step()
    two = Training([Gradient("a", MIB, 0.0), Gradient("b", MIB, 0.0)], Settings(), costly).step()
    assert one.seconds == 0
    assert two.seconds == pytest.approx(2 * 2 * MIB / 1e9)


def test_agreements_take_time() -> None:
    step = Training([Gradient("a", MIB, 0.0)], Settings(), Costs(2 * MS, PLAIN.allreduce, PLAIN.copy)).step()
    assert step.seconds == pytest.approx(2 * MS + MIB / 1e9)


def test_communication_slows_computation_down() -> None:
    # During 100 ms of communication, computation at half speed does 50 ms of work.
    pair = [Gradient("a", 100_000_000, 0.0), Gradient("b", 1_000_000, 0.2)]
    plain = Training(pair, Settings(cycle=MS), PLAIN).step()
    slowed = Training(pair, Settings(cycle=MS, interference=1.0), PLAIN).step()
    assert plain.messages[1].begin == pytest.approx(0.2)
    assert slowed.messages[1].begin == pytest.approx(0.25)


def test_no_later_gradient_replaces_one_that_does_not_fit() -> None:
    row = [Gradient(name, size, 0.0) for name, size in (("a", 60), ("b", 50), ("c", 4), ("d", 200), ("e", 1))]
    assert [[one.name for one in message] for message in fuse(row, 64)] == [["a"], ["b", "c"], ["d"], ["e"]]


def test_the_buffer_is_rounded_up_for_the_workers_of_a_node() -> None:
    assert Settings(fusion=1).buffer(1) == 64
    assert Settings(fusion=64).buffer(1) == 64
    assert Settings(fusion=65).buffer(4) == 256
    assert Settings(fusion=0).buffer(4) == 0


def test_an_agreement_has_a_bit_for_each_gradient_and_three_more() -> None:
    assert [coordination_bytes(count) for count in (1, 61, 62, 125, 126)] == [8, 8, 16, 16, 24]
