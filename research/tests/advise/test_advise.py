# SPDX-License-Identifier: Apache-2.0
"""The advice of `stretto advise`: gains, bounds, the check by SMPI, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stretto._core import lookup, read_table
from stretto.cli.main import app
from stretto.model import walker as model
from stretto.model.walker import Call, Model
from stretto_research.advise import check as advise_check
from stretto_research.advise import result as advise_result
from stretto_research.advise.check import check, sample_of, sample_shape
from stretto_research.advise.cluster import Figures, cluster_of, parse_speed
from stretto_research.advise.search import library_seconds, search
from stretto_research.simulate.jobs import Job
from stretto_research.simulate.library_choices import library_choice
from stretto_research.simulate.smpi import PACKAGE

SIZES = [8, 1 << 10, 32 << 10, 1 << 20, 32 << 20, 512 << 20]


def run(*arguments: str) -> tuple[int, str]:
    shown = CliRunner().invoke(app, ["advise", *arguments])
    return shown.exit_code, shown.output


def cluster() -> Model:
    return Model(cluster_of(Figures(), None).machine)


@pytest.mark.parametrize("collective", ["allreduce", "bcast", "reduce", "reduce_scatter", "allgather"])
@pytest.mark.parametrize("topology", ["nodes=8,ppn=1", "nodes=5,ppn=1", "nodes=4,ppn=4"])
def test_nothing_is_beyond_the_bound_and_no_gain_below_1(collective: str, topology: str) -> None:
    advice = search(cluster(), collective, topology, SIZES)
    assert [one.bytes for one in advice] == SIZES
    for one in advice:
        assert one.bound is not None
        assert one.seconds >= one.bound
        for item in one.libraries:
            assert one.gain(item) >= 1
            assert (one.spec_for(item) == "native") == (one.gain(item) == 1)
            assert one.spec != "native" or one.seconds <= item.seconds


def test_pruning_loses_no_more_than_what_counts_as_equal() -> None:
    walker = cluster()
    topology = "nodes=6,ppn=2"
    for one in search(walker, "allreduce", topology, SIZES):
        call = Call("allreduce", one.bytes, topology)
        others = [
            walker.predict(call, spec).seconds
            for spec in model.candidates("allreduce", topology)
            if spec != "native"
        ]
        assert one.spec == "native" or one.seconds <= 1.05 * min(others)


def test_long_messages_gain_over_each_library() -> None:
    last = search(cluster(), "allreduce", "nodes=16,ppn=1", [64 << 20])[-1]
    gains = {item.library: last.gain(item) for item in last.libraries}
    assert last.bound is not None
    assert last.bound / last.seconds > 0.85
    assert min(gains.values()) > 1.2
    assert gains["mpich"] > 3  # recursive doubling: log2(p) whole messages


def test_twice_the_link_halves_the_time_of_long_messages() -> None:
    slow, fast = (
        search(Model(cluster_of(Figures(network=rate, reduction="1000GB/s"), None).machine), "allreduce",
               "nodes=8,ppn=1", [64 << 20])[0].seconds
        for rate in ("50Gbit", "100Gbit")
    )  # fmt: skip
    assert 1.8 < slow / fast < 2.1


def test_the_sample_by_smpi_agrees() -> None:
    walker = cluster()
    checked = check(
        walker, "allreduce", 8, 1, search(walker, "allreduce", "nodes=8,ppn=1", [1 << 10, 8 << 20])
    )
    assert (checked.nodes, checked.ppn) == (8, 1)
    assert {row.bytes for row in checked.rows} == {1 << 10, 8 << 20}
    assert {row.who for row in checked.rows} == {"stretto", "openmpi", "mpich", "mvapich2", "intelmpi"}
    for row in checked.rows:
        assert row.difference is not None
        assert abs(row.difference) < (0.2 if row.who == "stretto" else 0.03)


def simulated(monkeypatch: pytest.MonkeyPatch, factors: dict[str, float]) -> list[str]:
    """Make the simulated times of specs and libraries multiples of the walker's times by these factors."""
    asked: list[str] = []

    def seconds_of(jobs: list[Job]) -> list[dict[int, float]]:
        (job,) = jobs
        (size,) = job.sizes
        call = Call(job.collective, size, f"nodes={job.nodes},ppn={job.ppn}")
        if job.is_native:
            choice = library_choice(job.selector, job.collective, job.ranks, job.ppn, size)
            walked, who = library_seconds(cluster(), call, choice), job.selector
        else:
            walked, who = cluster().predict(call, job.spec).seconds, job.spec
            asked.append(f"{job.spec} {size}")
        return [{size: walked * factors.get(who, 1.0)}]

    monkeypatch.setattr(advise_check, "seconds_of", seconds_of)
    return asked


def test_the_simulation_decides_if_the_walker_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    walker = cluster()
    sizes = [16 << 10, 64 << 10, 256 << 10, 1 << 20]
    by_walker = search(walker, "allreduce", "nodes=16,ppn=1", sizes)
    third = by_walker[2]
    assert 3 <= len(third.candidates) <= 10
    assert third.candidates[0] == third.spec != "native"
    asked = simulated(monkeypatch, {third.spec: 3.0, "mpich": 0.01})
    checked = check(walker, "allreduce", 16, 1, by_walker)
    now = checked.advice[2]
    # All ten candidates were simulated once, and the next best is advised.
    assert sorted(one for one in asked if one.endswith(f" {256 << 10}")) == sorted(
        f"{spec} {256 << 10}" for spec in third.candidates
    )
    assert now.by_simulation
    assert now.spec == third.candidates[1]
    assert now.seconds == pytest.approx(
        walker.predict(Call("allreduce", 256 << 10, "nodes=16,ppn=1"), now.spec).seconds
    )
    ours = [row.spec for row in checked.of(256 << 10) if row.who == "stretto"]
    assert ours == [third.spec, now.spec]
    # For each library, the advice is `native` if the library is faster in the simulation.
    takes = {item.library: now.spec_for(item) for item in now.libraries}
    assert takes["mpich"] == "native"
    assert takes["openmpi"] == now.spec
    # The neighbouring sizes were checked as well, though they are not in the sample.
    assert [one.by_simulation for one in checked.advice] == [True] * 4


def test_the_walker_decides_if_both_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    walker = cluster()
    by_walker = search(walker, "allreduce", "nodes=16,ppn=1", SIZES)
    asked = simulated(monkeypatch, dict.fromkeys(("openmpi", "mpich", by_walker[2].spec), 1.15))
    checked = check(walker, "allreduce", 16, 1, by_walker)
    assert checked.advice == by_walker
    assert len(asked) <= 3


def test_times_on_many_nodes_are_corrected_by_the_simulated_error(monkeypatch: pytest.MonkeyPatch) -> None:
    walker = cluster()
    by_walker = search(walker, "allreduce", "nodes=128,ppn=1", [4 << 20])
    simulated(monkeypatch, {by_walker[0].spec: 1.25})
    (now,) = check(walker, "allreduce", 128, 1, by_walker).advice
    call = Call("allreduce", 4 << 20, "nodes=128,ppn=1")
    second = walker.predict(call, by_walker[0].candidates[1]).seconds
    assert now.seconds == pytest.approx(min(1.25 * by_walker[0].seconds, second))


def test_a_library_that_is_faster_is_left_to_itself() -> None:
    code, output = run(
        "--nodes", "64", "--ppn", "8", "--network", "100Gbit", "--latency", "2us", "--sizes", "512"
    )
    assert code == 0
    # On the 8 simulated nodes, Open MPI's own choice is faster than the advice for 64 nodes.
    rows = [line for line in output.splitlines() if "Open MPI" in line and line.strip().startswith("512 B")]
    assert len(rows) == 1
    assert rows[0].count("native") == 2


def test_mpich_with_several_ranks_per_node_is_modelled_step_by_step() -> None:
    walker = cluster()
    advice = search(walker, "allreduce", "nodes=4,ppn=4", [1 << 10, 1 << 20])
    rows = [row for row in check(walker, "allreduce", 4, 4, advice).rows if row.who == "mpich"]
    assert [row.bytes for row in rows] == [1 << 10, 1 << 20]
    for row in rows:
        assert row.difference is not None
        assert abs(row.difference) < 0.03


def test_a_sample_of_a_large_cluster_is_of_fewer_nodes() -> None:
    assert sample_shape(64, 8) == (8, 8)
    assert sample_shape(1000, 1) == (64, 1)
    assert sample_shape(4, 2) == (4, 2)
    assert sample_shape(2, 128) == (2, 32)
    walker = cluster()
    assert [one.bytes for one in sample_of(search(walker, "bcast", "nodes=4,ppn=1", SIZES))] == [
        1 << 10, 1 << 20, 32 << 20
    ]  # fmt: skip


def test_the_files_hold_what_is_shown(tmp_path: Path) -> None:
    names = {name: tmp_path / f"advice.{name}" for name in ("output", "png", "table")}
    options = [word for name, file in names.items() for word in (f"--{name}", str(file))]
    code, output = run("--nodes", "16", "--sizes", "8B..64MiB:8", "--no-check", *options)
    assert code == 0
    content: dict[str, Any] = json.loads(names["output"].read_text())
    assert [row["bytes"] for row in content["advice"]] == [8 << 3 * step for step in range(8)]
    assert all(row["spec"] in output for row in content["advice"])
    assert names["png"].read_bytes().startswith(b"\x89PNG")
    table = names["table"].read_text()
    read_table(table)
    for row in content["advice"]:
        gain = row["libraries"]["openmpi"]["gain"]
        said = lookup(table, "allreduce", 16, 1, row["bytes"])
        assert said == (row["spec"] if gain > 1.1 else "native")


def test_without_simgrid_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advise_result, "find_smpirun", lambda: None)
    code, output = run("--nodes", "4", "--sizes", "1KiB")
    assert code == 0
    assert f"not checked by simulation: SimGrid is not installed (Debian, Ubuntu: {PACKAGE})" in output


def test_bandwidths_are_read() -> None:
    assert parse_speed("8GB/s") == parse_speed("8GB") == parse_speed("64Gbit") == 8e9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nodes", "1"], "--nodes"),
        (["--nodes", "4", "--network", "fast"], "--network: 'fast' is not a link rate"),
        (["--nodes", "4", "--latency", "2"], "--latency: '2' is not a time"),
        (["--nodes", "4", "--reduction", "0"], "--reduction: '0' is not a bandwidth"),
        (
            ["--nodes", "4", "--machine", "altec", "--latency", "1us"],
            "leave out either --machine or",
        ),
        (["--nodes", "4", "--machine", "nowhere"], "--machine nowhere: No such file"),
        (["--nodes", "4", "--collective", "neighbors"], "neighbors"),
        (["--nodes", "4", "--mpi", "LAM 7"], "--mpi LAM 7: expected a library and its version"),
        (["--nodes", "4", "--sizes", "0"], "'0': expected a size of at least 1 byte"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], message: str) -> None:
    code, output = run(*arguments)
    assert code == 2
    assert message in output
