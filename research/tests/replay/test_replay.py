# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from stretto.cli.main import app
from stretto.model.walker import Call, Model, load_machine
from stretto.support.errors import StrettoError
from stretto_research.networks.gradients import NETWORKS
from stretto_research.replay import durations
from stretto_research.replay.durations import CallSource, Durations, Site, neighbours, settle
from stretto_research.replay.horovod import Gradient, Settings
from stretto_research.replay.plan import parse_nodes
from stretto_research.replay.play import Outcome, Setup, play_all
from stretto_research.replay.source import PAPERS_IMAGES, calibrate, of_network
from stretto_research.simulate.jobs import Job, seconds_of
from stretto_research.simulate.platforms import load_platform, platform_of_machine

KIB, MIB = 1 << 10, 1 << 20
ALTEC = load_platform("altec")
SITE = Site(ALTEC, 8)
PAIR = (Gradient("a", 3 * MIB, 0.01), Gradient("b", MIB, 0.02))


@given(st.integers(1, 1 << 40), st.integers(10, 30).map(lambda power: 1 << power), st.sampled_from([1, 4]))
def test_sizes_that_are_simulated(size: int, longest: int, steps: int) -> None:
    low, high = neighbours(size, longest, steps)
    assert 16 <= low <= high <= longest
    if 16 < size <= longest:
        assert low <= size <= high
        assert high - low <= size // steps
    if size > longest:
        assert (low, high) == (longest // 2, longest)
    for one in (low, high):
        assert neighbours(one, longest, steps) == (one, one)


def test_sizes_are_interpolated_and_extrapolated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Job] = []

    def simulated(jobs: Sequence[Job], progress: object = None) -> list[dict[int, float]]:
        del progress
        asked.extend(jobs)
        return [{size: 1e-6 + size / 1e9 for size in job.sizes} for job in jobs]

    monkeypatch.setattr(durations, "seconds_of", simulated)
    table = Durations(replace(SITE, nodes=64), "ring")
    sizes = [20, KIB, 5 * KIB + 100, 100 * MIB, 1 << 33]
    for size in sizes:
        table.seconds(size)
    assert settle([table])
    assert not settle([table])
    for size in sizes:
        assert table.seconds(size) == pytest.approx(1e-6 + size / 1e9, rel=1e-6)
    assert not table.wanted
    # The messages of all ranks take 8 GiB at most.
    assert max(size for job in asked for size in job.sizes) == 128 * MIB
    assert len(asked) == len({(job.sizes, job.spec) for job in asked})


def test_the_model_in_place_of_the_simulation() -> None:
    lab = platform_of_machine(load_machine("lab"), 8, 1)
    site = Site(lab, 8, source=CallSource.MODEL)
    auto, ring = (play(spec, site=site) for spec in ("native", "ring:segments=4"))
    assert lab.machine is not None
    model = Model(lab.machine)
    took = [
        model.predict(Call("allreduce", size, "nodes=8,ppn=1"), "ring:segments=4").seconds
        for size in (MIB, 3 * MIB)
    ]
    assert ring.communication_seconds == pytest.approx(sum(took))
    # Over TCP, Open MPI's Rabenseifner exchanges at half the speed.
    assert auto.communication_seconds > 1.1 * ring.communication_seconds


def test_few_ranks_share_octaves(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Job] = []

    def simulated(jobs: Sequence[Job], progress: object = None) -> list[dict[int, float]]:
        del progress
        asked.extend(jobs)
        return [dict.fromkeys(job.sizes, 1.0) for job in jobs]

    monkeypatch.setattr(durations, "seconds_of", simulated)
    table = Durations(SITE, "ring")
    table.seconds(5 * KIB)
    table.seconds(6 * KIB)
    settle([table])
    assert [job.sizes for job in asked] == [(4 * KIB, 5 * KIB, 6 * KIB, 7 * KIB)]


def test_calls_that_the_simulation_refuses_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durations, "seconds_of", lambda jobs, _: [{} for _ in jobs])
    table = Durations(SITE, "native")
    table.seconds(KIB)
    with pytest.raises(StrettoError, match="native on 8 ranks with 1 KiB: SMPI's Open MPI refuses"):
        settle([table])


def play(spec: str, **changes: Any) -> Outcome:
    setup = Setup(PAIR, 32, SITE, spec, settings=Settings(cycle=1e-3), steps=3)
    return play_all([replace(setup, **changes)])[0]


def test_a_step_is_as_its_messages_are_simulated() -> None:
    outcome = play("ring:segments=4")
    [row] = seconds_of([Job(ALTEC, 8, "ring:segments=4", (MIB, 3 * MIB), data=False)])
    assert outcome.communication_seconds == pytest.approx(row[MIB] + row[3 * MIB], rel=1e-9)
    for step in outcome.steps:
        assert step.seconds == pytest.approx(0.02 + row[MIB], abs=1.2e-3)
    assert outcome.images_per_second == pytest.approx(8 * 32 / outcome.step_seconds)
    assert [one.bytes for one in outcome.steps[0].messages] == [3 * MIB, MIB]


@pytest.mark.parametrize(("nodes", "ppn"), [(8, 1), (9, 1), (2, 4)])
def test_messages_in_a_row_take_as_long_as_each_alone(nodes: int, ppn: int) -> None:
    # This is why Horovod's logic can be played apart from its calls.
    sizes = (4 * KIB, MIB, 16 * MIB)
    for spec in ("native", "ring:segments=4", "rabenseifner", "auto"):
        jobs = [Job(ALTEC, nodes, spec, sizes, ppn, data=False, in_a_row=calls) for calls in (1, 4)]
        alone, four = seconds_of(jobs)
        for size in sizes:
            assert four[size] / 4 == pytest.approx(alone[size], rel=0.03), (spec, size)


def test_one_spec_in_two_spellings() -> None:
    assert play("ring").steps == play("ring:segments=1").steps


def test_replays_depend_on_the_seed_only() -> None:
    one, same, other = (play("ring", imbalance=0.05, seed=seed) for seed in (1, 1, 2))
    assert one.steps == same.steps
    assert one.steps != other.steps


def test_imbalance_costs_more_on_more_nodes() -> None:
    few, many = (
        play("rabenseifner", site=Site(load_platform("altec", nodes), nodes), imbalance=0.05, steps=20)
        for nodes in (2, 32)
    )
    assert many.compute_seconds > few.compute_seconds > PAIR[-1].ready


def test_the_best_of_several_is_no_slower_than_each() -> None:
    best = play("native", others=("ring", "recursive_doubling"))
    each = [play(spec) for spec in ("native", "ring", "recursive_doubling")]
    assert best.communication_seconds <= min(one.communication_seconds for one in each)


def test_all_specs_of_several_ranks_a_node() -> None:
    outcome = play("auto", site=Site(ALTEC, 2, 4))
    assert outcome.images_per_second == pytest.approx(8 * 32 / outcome.step_seconds)
    assert outcome.step_seconds >= 0.02


def test_the_compute_speed_gives_table_3() -> None:
    speeds = calibrate(list(NETWORKS))
    for name, images in PAPERS_IMAGES.items():
        # A little more than an eighth: a step is longer than its computation.
        assert images <= 8 * speeds[name] < 1.02 * images


def test_networks_at_a_speed() -> None:
    source = of_network(NETWORKS["vgg11"](), 1.5, "")
    assert source.compute_seconds == pytest.approx(1.5)
    assert source.scaled(3.0, "").gradients[0].ready == pytest.approx(2 * source.gradients[0].ready)
    with pytest.raises(StrettoError, match="all its gradients are ready at once"):
        of_network(NETWORKS["vgg11"](), 0.0, "").scaled(1.0, "")


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["replay", *arguments])


def profile(tmp_path: Path, *, training: bool = True) -> Path:
    """A profile as stretto profile writes it."""
    spread = {"median": 0.0, "p95": 0.0}
    steps = {
        "framework": "horovod", "steps": 9, "step_seconds": 0.03, "compute_seconds": 0.02,
        "uncertainty_seconds": 0.001, "messages": [{"bytes": 4 * MIB, "per_step": 1.0}],
        "gradients": [{"name": one.name, "bytes": one.bytes, "ready": one.ready} for one in PAIR],
    }  # fmt: skip
    content = {
        "format": "stretto-profile", "version": 1, "ranks": 2, "nodes": 1, "seconds": 1.0, "inside": 0.5,
        "waiting": 0.1, "histogram": [], "training": steps if training else None,
        "collectives": [{
            "collective": "allreduce", "spec": "native", "form": "blocking", "ranks": 2, "bytes": 4,
            "calls": 1, "total_bytes": 4, "seconds": spread, "inside": 0.0, "arrival": spread, "gap": spread,
        }],
    }  # fmt: skip
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(content))
    return file


def measured(tmp_path: Path, **changes: Any) -> Path:
    """A training as stretto train writes it, with keys that a replay does not read."""
    images = {"median": 10_000.0, "low": 9e3, "high": 11e3}
    line = {"label": "MPI default", "spec": "native", "images_per_second": images}
    content = {
        "format": "stretto-training", "version": 1, "framework": "horovod", "model": "digits", "batch": 32,
        "ranks": 8, "nodes": 8, "mpi": "openmpi", "compute_seconds": 0.04, "new": 1,
        "lines": [
            line | {"more": 2},
            {"label": "RNG", "spec": "ring", "images_per_second": {"median": 5000.0}},
            {"label": "NBL", "spec": "native:segments=1", "images_per_second": {"median": 5000.0}},
        ],
    } | changes  # fmt: skip
    file = tmp_path / "train.json"
    file.write_text(json.dumps(content))
    return file


def test_a_profile_is_replayed(tmp_path: Path) -> None:
    file, png = tmp_path / "replay.json", tmp_path / "replay.png"
    files = ["-o", str(file), "--png", str(png)]
    result = command(str(profile(tmp_path)), "--nodes", "4", "--compute-speed", "2x", *files)
    assert result.exit_code == 0, result.output
    assert "here 2 times as fast" in result.stdout
    content = json.loads(file.read_text())
    assert [one["spec"] for one in content["outcomes"]] == ["native", "ring", "ring:segments=4", "auto"]
    for one in content["outcomes"]:
        assert one["compute_seconds"] == pytest.approx(0.01)
        assert one["step_seconds"] >= one["compute_seconds"]
        assert one["images_per_second"] == pytest.approx(4 * 64 / one["step_seconds"])
        assert sum(m["bytes"] * m["per_step"] for m in one["messages"]) == pytest.approx(4 * MIB)
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_sweep_finds_the_best_of_all(tmp_path: Path) -> None:
    file, png = tmp_path / "sweep.json", tmp_path / "sweep.png"
    result = command(
        "resnet50", "--compute-speed", "5tflops", "--sweep", "--specs", "ring,ring:segments=4",
        "--steps", "2", "-o", str(file), "--png", str(png),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    outcomes = json.loads(file.read_text())["outcomes"]
    assert len(outcomes) == 6 * 3
    best = max(outcomes, key=lambda one: float(one["images_per_second"]))
    fusion = best["fusion_bytes"] // MIB
    label = {"native": "MPI default"}.get(best["spec"], best["spec"])
    assert f"best: {label} with {fusion} MiB" in result.stdout
    assert png.read_bytes().startswith(b"\x89PNG")


def test_scaling(tmp_path: Path) -> None:
    file, png = tmp_path / "scaling.json", tmp_path / "scaling.png"
    result = command(
        "resnet110", "--platform", "ethernet25", "--compute-speed", "100gflops", "--scaling", "2..8",
        "--steps", "2", "--specs", "native,auto", "-o", str(file), "--png", str(png),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    outcomes = json.loads(file.read_text())["outcomes"]
    assert [(one["nodes"], one["spec"]) for one in outcomes] == [
        (nodes, spec) for nodes in (2, 4, 8) for spec in ("native", "auto")
    ]
    images = [one["images_per_second"] for one in outcomes if one["spec"] == "auto"]
    assert images == sorted(images)
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_measured_training_is_compared_with_the_replay(tmp_path: Path) -> None:
    file, png = tmp_path / "replay.json", tmp_path / "replay.png"
    result = command(
        str(profile(tmp_path)), "--against", str(measured(tmp_path)), "-o", str(file), "--png", str(png)
    )
    assert result.exit_code == 0, result.output
    content = json.loads(file.read_text())
    by_spec = {one["spec"]: one for one in content["outcomes"]}
    assert set(by_spec) == {"native", "ring"}
    auto, ring, unknown = content["against"]
    # Steps take what was measured without communication, and a little more.
    assert by_spec["native"]["compute_seconds"] == pytest.approx(0.04)
    assert auto["error"] == pytest.approx(by_spec["native"]["images_per_second"] / 10_000 - 1)
    assert ring["error"] == pytest.approx(by_spec["ring"]["images_per_second"] / 5000 - 1)
    assert unknown["replayed"] is None
    assert content["median_error"] == pytest.approx((abs(auto["error"]) + abs(ring["error"])) / 2)
    assert f"median error {100 * content['median_error']:.1f} %" in result.stdout
    assert "not simulated" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "nothing: expected a file that stretto profile wrote, or one of alexnet"),
        (["alexnet", "--platform", "cloud"], "alexnet on cloud: give the speed of a worker"),
        (["alexnet", "--compute-speed", "fast"], "--compute-speed fast: expected"),
        (["alexnet", "--compute-speed", "2x"], "--compute-speed 2x: alexnet has no speed"),
        (["alexnet", "--specs", "native:segments=4"], "--specs native:segments=4: SMPI imitates no"),
        (["alexnet", "--specs", "rung"], "rung"),
        (
            ["alexnet", "--specs", "native(rdb)", "--calls", "model"],
            "--specs native(rdb): the model knows only",
        ),
        (["alexnet", "--sweep", "--scaling", "2"], "--sweep, --scaling, --against: give one"),
        (["alexnet", "--scaling", "8..2"], "--scaling 8..2: expected numbers of nodes"),
        (["alexnet", "--fusion", "much"], "'much' is not a size"),
        (["alexnet", "--platform", "altec", "--from-machine", "x"], "give --platform or --from-machine"),
        (["alexnet", "-o", "/nowhere/file"], "there is no folder /nowhere"),
    ],
)
def test_wrong_options_are_one_line(arguments: list[str], said: str) -> None:
    result = command(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("stretto: ")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    for file, said in (
        (profile(tmp_path, training=False), "there is no training in this profile"),
        (measured(tmp_path), "format"),
    ):
        result = command(str(file))
        assert result.exit_code == 2
        assert said in result.stderr
    uneven = measured(tmp_path, ranks=9)
    result = command("alexnet", "--against", str(uneven))
    assert result.exit_code == 2
    assert "9 workers on 8 nodes" in result.stderr
    source = profile(tmp_path)
    result = command(str(source), "--compute-speed", "1gflops")
    assert "a profile does not count operations" in result.stderr


def test_a_network_takes_the_measured_computation(tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    result = command(
        "resnet110", "--platform", "ethernet25", "--against", str(measured(tmp_path)), "-o", str(file)
    )
    assert result.exit_code == 0, result.output
    for one in json.loads(file.read_text())["outcomes"]:
        assert one["compute_seconds"] == pytest.approx(0.04)


def test_numbers_of_nodes() -> None:
    assert parse_nodes("9, 2..16,4") == [2, 4, 8, 9, 16]
