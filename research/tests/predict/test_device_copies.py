# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from stretto import _core
from stretto.cli.main import app
from stretto.model.walker import Call, Model, load_machine
from stretto.support.errors import StrettoError
from stretto_research.predict.device_copies import USUAL_LATENCY, with_copies

SPECS = ["ring", "ring:segments=5", "rabenseifner", "recursive_doubling:segments=2", "knomial:radix=4"]
CALL = Call("allreduce", 1 << 20, "nodes=4,ppn=1")


def staged(machine: _core.Machine, staging: str = "segments", spec: str = "ring:segments=4") -> float:
    return Model(machine).predict(CALL, spec, staging=staging).seconds


def test_an_option_gives_rates_or_leaves_those_of_the_file() -> None:
    machine = load_machine("altec")
    same = machine.with_device(12e9, 12e9, USUAL_LATENCY)
    assert staged(with_copies(machine, "to_host=12GB/s")) == staged(same)
    assert staged(with_copies(machine, "to_host=96gbit")) == staged(same)
    slower = with_copies(machine, "to_host=12GB/s, to_device=1GB/s,latency=10us")
    assert staged(slower) > staged(same)
    assert staged(with_copies(slower, "machine")) == staged(slower)


@pytest.mark.parametrize(
    "text",
    ["", "12GB/s", "to_device=1GB/s", "to_host=1", "to_host=0GB/s", "to_host=1GB/s,to_host=1GB/s", "machine"],
)
def test_an_option_that_is_wrong(text: str) -> None:
    with pytest.raises(StrettoError, match=r"^--device"):
        with_copies(load_machine("altec"), text)


@example("recursive_doubling:segments=2", 4, 472, 8, 10)  # 1.3 % longer
@given(
    st.sampled_from(SPECS), st.integers(2, 9), st.integers(4, 1 << 22), st.integers(8, 11), st.integers(8, 11)
)
def test_segments_take_hardly_longer_than_a_whole(
    spec: str, nodes: int, size: int, to_host: int, to_device: int
) -> None:
    model = Model(load_machine("altec").with_device(10.0**to_host, 10.0**to_device, 0))
    call = Call("allreduce", size // 4 * 4, f"nodes={nodes},ppn=1")
    segments, whole = (model.predict(call, spec, staging=how) for how in ("segments", "whole"))
    # A message that comes earlier to a link may delay another message there for which others wait.
    assert segments.seconds <= whole.seconds * 1.05
    assert segments.seconds >= model.copy_seconds(call, spec) * (1 - 1e-9)
    assert sum(segments.parts.values()) == pytest.approx(segments.seconds)


def test_a_call_in_host_memory_has_no_copies() -> None:
    model = Model(load_machine("altec").with_device(1e6, 1e6, 1))
    assert model.predict(CALL, "ring").parts["copy"] == 0
    assert model.predict(CALL, "ring").seconds == Model(load_machine("altec")).predict(CALL, "ring").seconds
    assert model.predict(CALL, "native", staging="segments").parts["copy"] == 0


def test_predict_adds_times_on_devices() -> None:
    options = [
        "predict",
        "allreduce",
        "--nodes",
        "4",
        "--sizes",
        "16MiB",
        "--specs",
        "native,ring:segments=8",
    ]
    copies = ["--device", "to_host=12GB/s,latency=10us"]
    result = CliRunner().invoke(app, [*options, *copies, "--json"])
    assert result.exit_code == 0, result.output
    native, ring = json.loads(result.output)["predictions"]
    assert "device" not in native
    device = ring["device"]
    assert device["copy_seconds"] == pytest.approx((16 << 20) / 12e9 + 8e-5)
    assert max(device["copy_seconds"], ring["seconds"]) < device["segments_seconds"] < device["whole_seconds"]
    shown = CliRunner().invoke(app, [*options, *copies], env={"COLUMNS": "200"}).output
    assert "on device" in shown
    assert "as a whole" in shown
    assert "on device" not in CliRunner().invoke(app, options, env={"COLUMNS": "200"}).output


def test_a_barrier_has_no_copies() -> None:
    options = ["predict", "barrier", "--specs", "dissemination", "--device", "to_host=1GB/s"]
    result = CliRunner().invoke(app, options, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "on device" not in result.output


def test_measured_calls_are_in_host_memory() -> None:
    result = CliRunner().invoke(app, ["predict", "allreduce", "--against", "x.json", "--device", "machine"])
    assert "--device: measured calls have their buffers in host memory" in result.output
