# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from stretto import _core
from stretto.model.fabric_file import FabricFile, fabric_folder, fabric_paths, find_fabric, read_fabric
from stretto.support.errors import StrettoError

ROOT = Path(__file__).parents[3]


def example() -> dict[str, Any]:
    """The file that docs/formats.md shows."""
    section = (ROOT / "docs/formats.md").read_text(encoding="utf-8").split("\n## A fabric\n")[1]
    found = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def written(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def known(folder: Path, **changed: Any) -> FabricFile:
    return read_fabric(written(folder / "fabric.json", example() | changed))


def test_the_file_in_the_documentation_is_read(tmp_path: Path) -> None:
    file = known(tmp_path)
    assert (file.fabric.mpi, file.fabric.hosts, file.family) == ("Open MPI 4.1.4", "node#", "openmpi")
    assert file.fabric.processor == "AMD EPYC, 2 cores"
    assert file.fabric.network.startswith("OMPI_MCA_btl=tcp,self")
    (decision,) = file.fabric.decisions
    assert (decision.nodes, decision.ppn, decision.min_ppn, decision.call) == (3, 1, 1, "allreduce")
    assert (decision.spec, decision.gain, decision.when) == (
        "ring:segment_bytes=48KiB",
        1.62,
        "2026-11-24",
    )
    assert (decision.begin, decision.in_place) == (1 << 20, False)
    assert (decision.seconds, decision.bytes) == (0.0597, 1 << 20)
    measured = file.fabric.measured
    assert measured is not None
    assert (measured.nodes, measured.ppn, measured.when) == (3, 1, "2026-11-24")
    assert file.measured_text == "measured 2026-11-24 between 3 nodes"
    assert file.dates == ("2026-11-24", "2026-11-24")


def test_the_link_between_nodes(tmp_path: Path) -> None:
    link = known(tmp_path).link
    assert link is not None
    assert link.latency == pytest.approx(4.1e-5 + 2 * 2.3e-6)
    assert link.bandwidth == 2.39e7
    speed = "latency 45.6 µs, bandwidth 23.9 MB/s"
    assert known(tmp_path).speed_text == f"measured 2026-11-24 between 3 nodes: {speed}"
    measured = example()["measured"]
    # On a fast link, a core passes fewer bytes than the link can carry.
    measured["machine"]["levels"]["network"][0] |= {"bandwidth": 5e9, "core": 1.5e9}
    measured["machine"]["limits"] = {}
    link = known(tmp_path, measured=measured).link
    assert link is not None
    assert link.bandwidth == 1.5e9
    one_node = known(tmp_path, measured=measured | {"nodes": 1})
    assert (one_node.link, one_node.measured_text) == (None, "measured 2026-11-24 inside one node")


def test_what_a_busy_machine_measured(tmp_path: Path) -> None:
    assert known(tmp_path).busy_text == ""
    measured = example()["measured"]
    assert known(tmp_path, measured=measured | {"busy": 0.09}).busy_text == ""
    file = known(tmp_path, measured=measured | {"busy": 0.43})
    assert file.busy_text.startswith(
        "measured on a busy machine: other processes had a rank's core for 43 % of the time"
    )


def test_what_may_be_missing(tmp_path: Path) -> None:
    content = example()
    del content["measured"]
    decision = content["decisions"][0]
    content["decisions"] = [
        {key: decision[key] for key in decision if key not in ("gain", "seconds", "bytes", "when")}
    ]
    file = read_fabric(written(tmp_path / "fabric.json", content))
    (read,) = file.fabric.decisions
    assert (read.gain, read.seconds, read.when) == (None, None, "")
    assert (file.fabric.measured, file.link, file.dates) == (None, None, None)
    assert file.measured_text == file.speed_text == "not measured yet"
    with pytest.raises(StrettoError, match="no job has measured this network; give --machine, too"):
        _ = file.machine_for(2)


def test_a_decision_is_found_as_in_a_job(tmp_path: Path) -> None:
    fabric = known(tmp_path).fabric
    where = _core.Topology("nodes=3,ppn=1")
    for size, found in ((1 << 20, True), ((1 << 21) - 1, True), (1 << 21, False), ((1 << 20) - 1, False)):
        assert (fabric.find("allreduce", size, where) is not None) is found
    assert fabric.find("allreduce", 1 << 20, where, in_place=True) is None
    assert fabric.find("bcast", 1 << 20, where) is None
    assert fabric.find("allreduce", 0, where) is None
    assert fabric.find("allreduce", 1 << 20, _core.Topology("nodes=4,ppn=1")) is None
    assert fabric.find("allreduce", 1 << 20, _core.Topology("ppn=2+1+1")) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "this is not JSON"),
        ('{"format": "stretto-table", "version": 1}', "stretto-fabric"),
        ({"measured": {"nodes": 0}}, "measured.nodes: expected a whole number from 1"),
        ({"measured": {"nodes": 2, "ppn": 1, "machine": {"name": "a"}}}, "measured.machine: .*levels"),
        ({"measured": {"nodes": 2, "ppn": 1}}, "measured: .*machine"),
        ({"decisions": [{"nodes": 1, "ppn": 1, "call": "reduce_all"}]}, r"decisions\[0\].call: expected a"),
        ({"more": 1}, "there is no such key"),
    ],
)
def test_a_damaged_file_is_one_line(content: str | dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "fabric.json"
    written(file, content if isinstance(content, str) else example() | content)
    with pytest.raises(StrettoError, match=message) as caught:
        read_fabric(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_no_text_or_no_file(tmp_path: Path) -> None:
    file = tmp_path / "fabric.json"
    file.write_bytes(b'{"format": "\xff"}')
    with pytest.raises(StrettoError, match="this is not JSON"):
        read_fabric(file)
    with pytest.raises(StrettoError, match="there is no such file"):
        read_fabric(Path("/dev/zero"))


def test_the_folder_is_that_of_the_library(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert fabric_folder(home) == tmp_path / ".cache/stretto/fabrics"
    assert fabric_folder({"HOME": "/nonexistent"}) is None  # Debian's, of users without a home
    assert fabric_folder(home | {"XDG_CACHE_HOME": "/cache"}) == Path("/cache/stretto/fabrics")
    assert fabric_folder(home | {"XDG_CACHE_HOME": "/cache", "STRETTO_CACHE": "/s"}) == Path("/s/fabrics")
    # The library takes absolute paths only.
    assert fabric_folder(home | {"STRETTO_CACHE": "s"}) == tmp_path / ".cache/stretto/fabrics"
    assert fabric_folder({}) is None


def test_the_latest_is_the_one_that_was_written_last(tmp_path: Path) -> None:
    environment = {"STRETTO_CACHE": str(tmp_path)}
    assert fabric_paths(environment) == []
    with pytest.raises(StrettoError, match=f"no job has kept findings in {tmp_path}/fabrics: the first"):
        find_fabric("latest", environment)
    files = [written(tmp_path / "fabrics" / name, example()) for name in ("b.json", "c.json", "a.json")]
    for second, file in enumerate(files):
        os.utime(file, (second, second))
    written(tmp_path / "fabrics" / "b.json.lock", "")
    assert fabric_paths(environment) == files
    assert find_fabric("latest", environment).path == files[-1]
    assert find_fabric(str(files[0]), environment).path == files[0]
    assert fabric_paths(environment | {"STRETTO_FABRIC": "none"}) == []
    assert fabric_paths(environment | {"STRETTO_FABRIC": str(files[1])}) == [files[1]]
    assert fabric_paths(environment | {"STRETTO_FABRIC": str(tmp_path / "new.json")}) == []


def test_the_fastest_specs_by_the_model(tmp_path: Path) -> None:
    machine = known(tmp_path).machine_for(2)
    where = _core.Topology("nodes=3,ppn=1")
    fastest = _core.find_modelled("allreduce", 1 << 20, where, machine)
    seconds = [time for _, time, _ in fastest]
    assert 4 <= len(fastest) <= 6
    assert seconds[0] == min(seconds)
    # The fastest algorithm with other segments comes first, and then other algorithms.
    algorithms = [_core.parse_spec(spec).algorithm for spec, *_ in fastest]
    assert algorithms[0] == algorithms[1]
    assert len({spec for spec, *_ in fastest}) == len(fastest)
    assert len(set(algorithms)) >= 2
    # They are those of all calls of the kind, with the time of the shortest one.
    assert _core.find_modelled("allreduce", (2 << 20) - 1, where, machine) == fastest
    # Twice the bytes over slow links take about twice as long.
    longer = _core.find_modelled("allreduce", 1 << 21, where, machine)[0][1]
    assert longer == pytest.approx(2 * seconds[0], rel=0.1)
    with pytest.raises(ValueError, match="there is no collective"):
        _core.find_modelled("collect", 4, where, machine)
