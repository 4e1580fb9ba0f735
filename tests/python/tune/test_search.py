# SPDX-License-Identifier: Apache-2.0
"""Tests the search on simulated clusters: pure functions with seeded noise, and a clock of their own."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.results.runs import EndedError
from stretto.spec.native import NATIVE
from stretto.tune.evidence import simplicity
from stretto.tune.findings import CallKind, Choice, Findings, Samples
from stretto.tune.search import Search, TooShortError, middle_of
from stretto.tune.times import Predict, no_prediction

ALLREDUCE = CallKind("allreduce", "blocking")
SIZES = [64 * 4**step for step in range(10)]  # to 16 MiB
LIBRARY = ["native(ring)", "native(linear)"]


class Cluster:
    """Each spec takes latency + bytes / bandwidth, times a disturbance of the row and one of each sample."""

    def __init__(self, seed: int, noise: float = 0.03, specs: int = 12) -> None:
        source = random.Random(seed)
        self.costs = {NATIVE: (4e-4, 1.6e-7)}
        for spec in [f"s{number}" for number in range(specs)] + LIBRARY:
            latency = math.exp(source.uniform(math.log(1e-4), math.log(2e-3)))
            inverse_bandwidth = math.exp(source.uniform(math.log(6e-8), math.log(6e-7)))
            self.costs[spec] = latency, inverse_bandwidth
        self.random = random.Random(seed + 1)
        self.noise = noise
        self.clock = 0.0
        self.requests: list[tuple[int, list[str]]] = []
        self.slower: dict[float, float] = {}  # from a time on, so many times

    def seconds(self, spec: str, size: int) -> float:
        latency, inverse_bandwidth = self.costs[spec]
        return latency + inverse_bandwidth * size

    def best(self, size: int) -> float:
        return min(self.seconds(spec, size) for spec in self.costs)

    def measure(
        self, kind: CallKind, size: int, specs: Sequence[str], repetitions: int, seconds: float
    ) -> Samples:
        assert kind == ALLREDUCE
        assert seconds >= 0
        self.requests.append((size, list(specs)))
        samples: Samples = {spec: [] for spec in specs}
        self.clock += 0.01
        factor = max((times for begin, times in self.slower.items() if begin <= self.clock), default=1.0)
        for _ in range(repetitions):
            common = factor * math.exp(self.random.gauss(0, self.noise))
            for spec in specs:
                outlier = 1.5 if self.random.random() < 0.02 else 1.0
                time = (
                    self.seconds(spec, size) * common * outlier * math.exp(self.random.gauss(0, self.noise))
                )
                samples[spec].append(time)
                self.clock += time
        return samples

    def elapsed(self) -> float:
        return self.clock


def search(
    cluster: Cluster,
    budget: float = 300.0,
    predict: Predict = no_prediction,
    findings: Findings | None = None,
    library_apart: bool = False,
    kind: CallKind = ALLREDUCE,
    rule: str = NATIVE,
) -> Search:
    others = [spec for spec in cluster.costs if spec != NATIVE]
    return Search(
        cluster,
        kind,
        candidates=lambda _size: others,
        variants=lambda _spec, _size: [],
        until=budget,
        rule=lambda _size: rule,
        predict=predict,
        findings=findings,
        library_apart=library_apart,
    )


@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.integers(min_value=0, max_value=10**6))
def test_what_is_found_is_near_the_best_and_never_slower_than_native(seed: int) -> None:
    cluster = Cluster(seed)
    findings = search(cluster).run(SIZES)
    assert set(SIZES) <= set(findings.choices)
    for choice in findings.sorted():
        chosen = cluster.seconds(choice.spec, choice.size)
        assert chosen <= 1.005 * cluster.seconds(NATIVE, choice.size)
        if choice.size in SIZES:
            # The library's own algorithms must be 5 % faster by the measurements, since they must be set.
            assert chosen <= 1.06 * cluster.best(choice.size)
    assert cluster.clock < 1.1 * 300


@settings(max_examples=10, derandomize=True, deadline=None)
@given(st.integers(min_value=0, max_value=10**6))
def test_where_native_is_best_it_stays(seed: int) -> None:
    cluster = Cluster(seed)
    cluster.costs[NATIVE] = (1e-4, 5e-8)
    findings = search(cluster).run(SIZES)
    assert {choice.spec for choice in findings.sorted()} == {NATIVE}


def test_what_is_as_fast_as_native_is_not_chosen() -> None:
    cluster = Cluster(1)
    cluster.costs = {NATIVE: (1e-4, 1e-7), "same": (1e-4, 1e-7)}
    chosen = [choice.spec for seed in range(5) for choice in _run_with(cluster, seed).sorted()]
    assert chosen.count("same") <= 1  # of 50


def _run_with(cluster: Cluster, seed: int) -> Findings:
    cluster.random = random.Random(seed)
    cluster.clock = 0.0
    return search(cluster).run(SIZES)


def test_break_points_are_narrowed_down() -> None:
    cluster = Cluster(1)
    # Equal at 10,000 bytes.
    cluster.costs = {NATIVE: (1e-2, 1e-6), "short": (1e-3, 3e-7), "long": (3e-3, 1e-7)}
    findings = search(cluster).run(SIZES)
    border = min(choice.size for choice in findings.sorted() if choice.spec == "long")
    assert 8_000 <= border <= 12_500


class Restless(Cluster):
    """Between the sizes the library's time jumps, so that few samples do not show that it is slower."""

    def measure(
        self, kind: CallKind, size: int, specs: Sequence[str], repetitions: int, seconds: float
    ) -> Samples:
        samples = super().measure(kind, size, specs, repetitions, seconds)
        if size not in SIZES and NATIVE in samples:
            factors = (0.5, 2.0, 2.0)
            samples[NATIVE] = [factors[at % 3] * time for at, time in enumerate(samples[NATIVE])]
        return samples


def test_between_two_that_are_faster_the_library_stays_away_in_doubt() -> None:
    cluster = Restless(7)
    cluster.costs = {NATIVE: (4e-4, 1.6e-7), "short": (1e-4, 1.4e-7), "long": (2e-3, 6e-8)}
    findings = search(cluster).run(SIZES)
    specs = [choice.spec for choice in findings.sorted()]
    assert {"short", "long"} <= set(specs)
    assert NATIVE not in specs


def test_a_model_puts_what_it_promises_first() -> None:
    cluster = Cluster(3, specs=60)
    guided = search(
        cluster,
        budget=20.0,
        predict=lambda _collective, spec, size: (
            None if spec.startswith(NATIVE) else cluster.seconds(spec, size)
        ),
    )
    findings = guided.run([1 << 20])
    assert cluster.seconds(findings.choices[1 << 20].spec, 1 << 20) <= 1.05 * cluster.best(1 << 20)


def test_a_budget_that_is_too_short() -> None:
    with pytest.raises(TooShortError, match="too short to decide anything of 16 MiB; give"):
        search(Cluster(1), budget=5.0).run([16 << 20])


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.floats(0.02, 30), st.floats(0.02, 1), st.sampled_from([1.0, 10.0, 1000.0]))
def test_a_search_decides_something_or_says_why_not(budget: float, since: float, times: float) -> None:
    cluster = Cluster(1)
    cluster.slower[since * budget] = times
    findings = Findings()
    with contextlib.suppress(TooShortError):
        search(cluster, budget=budget, findings=findings).run(SIZES[:4])
        assert findings.choices


def test_sizes_for_which_there_is_no_time_are_left_out() -> None:
    findings = search(Cluster(1), budget=10.0).run(SIZES)
    assert 64 << 10 in findings.choices
    assert 16 << 20 not in findings.choices
    assert any("would exceed the budget" in remark for remark in findings.remarks)


class Rows(Cluster):
    """Like the measuring program: a sample is a row of as many calls as the fastest spec needs."""

    def measure(
        self, kind: CallKind, size: int, specs: Sequence[str], repetitions: int, seconds: float
    ) -> Samples:
        begin = self.clock
        samples = super().measure(kind, size, specs, repetitions, seconds)
        calls = min(1024.0, max(1.0, 20e-3 / min(self.seconds(spec, size) for spec in specs)))
        self.clock = begin + 0.01 + calls * (self.clock - begin - 0.01)
        return samples


def test_candidates_that_take_longer_than_expected_do_not_exceed_the_time() -> None:
    cluster = Rows(1)
    # Each row of a candidate takes 2 s at 1 KiB, which is not known beforehand.
    cluster.costs = {NATIVE: (2e-6, 1e-10)} | {f"slow{number}": (2e-3, 1e-10) for number in range(24)}
    findings = search(cluster, budget=40.0).run([1 << 10, 1 << 14, 1 << 18])
    assert set(findings.choices) == {1 << 10, 1 << 14, 1 << 18}
    assert cluster.clock < 1.1 * 40


def test_what_trainings_send_comes_first() -> None:
    findings = search(Rows(1), budget=7.0).run(SIZES[:8])
    decided = [choice.size for choice in findings.sorted() if choice.size in SIZES]
    assert decided == [size for size in SIZES[:8] if size >= decided[0]]
    assert 64 < decided[0] <= 1 << 16
    assert findings.remarks[-1].startswith("allreduce: no time was left for 64 B, ")


def test_what_cannot_be_confirmed_is_no_choice() -> None:
    class Slowing(Cluster):
        """Once the candidates are known, calls take so long that nothing can be confirmed."""

        def seconds(self, spec: str, size: int) -> float:
            return super().seconds(spec, size) * (1000 if self.clock > 2 else 1)

    cluster = Slowing(1)
    cluster.costs = {NATIVE: (0.1, 1e-9), "good": (0.05, 1e-9)}
    findings = Findings()
    with pytest.raises(TooShortError, match="too short to decide anything of 64 KiB"):
        search(cluster, budget=9.0, findings=findings).run([1 << 16])
    assert findings.choices == {}
    assert "the table does not cover it" in findings.remarks[-1]


def test_an_interrupted_search_goes_on() -> None:
    cluster = Cluster(2)
    first = search(cluster)
    first.run(SIZES[:4])
    decided = dict(first.findings.choices)
    cluster.requests.clear()
    cluster.clock = 0.0
    findings = search(cluster, findings=first.findings).run(SIZES)
    assert {size: findings.choices[size] for size in SIZES[:4]} == {size: decided[size] for size in SIZES[:4]}
    explored = {size for size, specs in cluster.requests if len(specs) > 5}
    assert explored.isdisjoint(SIZES[:4])


def test_a_cluster_that_changes_is_measured_again() -> None:
    cluster = Cluster(2)
    cluster.slower = {60.0: 3.0}
    findings = search(cluster).run(SIZES)
    assert sum("the cluster changed" in remark for remark in findings.remarks) == 1


def test_a_cluster_that_keeps_changing_ends_the_tuning() -> None:
    cluster = Cluster(2)
    cluster.slower = {60.0: 2.0, 400.0: 5.0}
    findings = search(cluster, budget=900.0).run(SIZES)
    assert any("keeps changing, so the search ended" in remark for remark in findings.remarks)
    assert findings.choices


def test_the_librarys_own_may_be_told_of_without_being_chosen() -> None:
    cluster = Cluster(1)
    cluster.costs = {NATIVE: (1e-3, 1e-7), "s0": (8e-4, 8e-8), "native(ring)": (1e-4, 2e-8)}
    free = search(cluster).run([1 << 16])
    assert free.choices[1 << 16].spec == "native(ring)"
    cluster.clock = 0.0
    apart = search(cluster, library_apart=True).run([1 << 16])
    assert apart.choices[1 << 16].spec == "s0"
    assert apart.choices[1 << 16].library == "ring"


def test_what_the_rule_says_is_tried_even_if_there_is_time_for_little() -> None:
    cluster = Cluster(3)
    cluster.costs = {NATIVE: (0.5, 1e-7)} | {f"slow{number}": (0.9, 1e-7) for number in range(60)}
    cluster.costs["good"] = (0.1, 1e-7)
    assert search(cluster, budget=40.0, rule="good").run([1 << 16]).choices[1 << 16].spec == "good"


@pytest.mark.parametrize(("faster", "chosen"), [(1.02, "s0"), (1.3, "native(ring)")])
def test_what_the_library_must_be_told_is_to_be_worth_it(faster: float, chosen: str) -> None:
    cluster = Cluster(1)
    cluster.costs = {NATIVE: (1e-3, 1e-7), "s0": (4e-4, 4e-8), "native(ring)": (4e-4 / faster, 4e-8 / faster)}
    assert search(cluster).run([1 << 16]).choices[1 << 16].spec == chosen


def test_a_job_that_ends_leaves_what_was_decided() -> None:
    class Ending(Cluster):
        def measure(
            self, kind: CallKind, size: int, specs: Sequence[str], repetitions: int, seconds: float
        ) -> Samples:
            if size <= 1 << 10 and len(specs) > 1:
                raise EndedError("the job has ended")
            return super().measure(kind, size, specs, repetitions, seconds)

    told: list[Choice] = []
    interrupted = search(Ending(1))
    interrupted._chosen = told.append
    with pytest.raises(EndedError):
        interrupted.run(SIZES)
    large = [size for size in SIZES if size >= 1 << 16]
    assert [choice.size for choice in told] == [*large, 1 << 14, 1 << 12]
    assert interrupted.findings.sorted() == sorted(told, key=lambda choice: choice.size)


def test_the_simpler_is_preferred() -> None:
    specs = ["native(ring)", "ring:segments=4:window=2", "ring", "smp(ring)"]
    assert sorted(specs, key=simplicity) == ["ring", "smp(ring)", "ring:segments=4:window=2", "native(ring)"]


@given(st.integers(min_value=1, max_value=1 << 40), st.floats(min_value=1.3, max_value=64))
def test_the_middle_lies_between(low: int, ratio: float) -> None:
    high = math.ceil(low * ratio)
    middle = middle_of(low, high)
    assert middle is None or low < middle < high
    if low >= 64 and ratio >= 2:
        assert middle is not None


def test_calls_are_named_as_in_c() -> None:
    names = [CallKind("bcast", form).name for form in ("blocking", "non-blocking", "persistent")]
    assert names == ["bcast", "ibcast", "bcast_init"]


class Twins(Cluster):
    """A library with two functions for which the same rows hold. Stretto's specs take as long for both."""

    def __init__(self, seed: int, native: float, native_of_twin: float) -> None:
        super().__init__(seed)
        kind = CallKind("reduce_scatter", "blocking")
        assert kind.twin is not None
        self.natives = {kind: native, kind.twin: native_of_twin}  # times what the best spec takes
        self.kind = kind

    def own(self, spec: str, size: int) -> float:
        return super().seconds(spec, size)

    def seconds(self, spec: str, size: int) -> float:
        if spec[0] == "s":
            return self.own(spec, size)
        return self.natives[self.kind] * min(self.own(spec, size) for spec in self.costs if spec[0] == "s")

    def measure(
        self, kind: CallKind, size: int, specs: Sequence[str], repetitions: int, seconds: float
    ) -> Samples:
        self.kind = kind
        return super().measure(ALLREDUCE, size, specs, repetitions, seconds)


@pytest.mark.parametrize(
    ("native", "native_of_twin", "is_chosen"),
    [
        (1.5, 1.5, True),
        (1.5, 1.0, True),
        (1.0, 1.5, True),
        (1.5, 0.8, False),
        (0.8, 1.5, False),
        (1, 1, False),
    ],
)
def test_a_choice_for_two_functions_must_be_slower_for_none(
    native: float, native_of_twin: float, is_chosen: bool
) -> None:
    cluster = Twins(6, native, native_of_twin)
    findings = search(cluster, kind=cluster.kind).run(SIZES[:6:5])
    chosen = {findings.choices[size].spec != NATIVE for size in SIZES[:6:5]}
    assert chosen == {is_chosen}
    told = any("was chosen for reduce_scatter_block, 1.5" in remark for remark in findings.remarks)
    assert told == ((native, native_of_twin) == (1.0, 1.5))
