# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.model.walker import load_machine
from stretto.support.errors import StrettoError
from stretto_research.simulate.fabrics import Dragonfly, Fabric, FatTree, Torus
from stretto_research.simulate.jobs import ping_pong
from stretto_research.simulate.platforms import load_platform, platform_names, platform_of_machine

SIZES = (8, 1000, 8192, 100_000, 1 << 20, 1 << 26)
FABRICS: list[Fabric] = [FatTree(36), Dragonfly(4, 4, 2), Torus(9.6e9)]


@pytest.mark.parametrize("name", platform_names())
def test_its_ping_pong_is_what_its_machine_says(name: str) -> None:
    platform = load_platform(name)
    machine = platform.machine
    assert machine is not None
    for level in ("network", "node"):
        times = ping_pong(platform, SIZES, on_node=level == "node")
        for size, seconds in times.items():
            protocol = [one for one in machine.protocols(level) if one.begin <= size][-1]
            expected = protocol.latency + size / protocol.bandwidth
            # Nodes of a torus and of large trees are a few links further apart.
            assert seconds == pytest.approx(expected, rel=0.02, abs=0.5e-6), (level, size)


def test_altec_is_as_the_paper_measured_it() -> None:
    # CNN-training paper, section 4.1: 11.7 GB/s beyond 4 MiB, 2 us.
    times = ping_pong(load_platform("altec"), (1, 4 << 20, 1 << 30))
    assert times[1] == pytest.approx(2e-6, rel=0.01)
    assert (4 << 20) / times[4 << 20] == pytest.approx(11.7e9, rel=0.005)
    assert (1 << 30) / times[1 << 30] == pytest.approx(11.77e9, rel=0.001)


@given(st.sampled_from(FABRICS), st.integers(1, 300))
def test_a_fabric_has_room_for_the_nodes(fabric: Fabric, nodes: int) -> None:
    count, attributes = fabric.shape(nodes)
    assert nodes <= count <= max(2 * nodes, nodes + 18)
    assert set(attributes) == {"topology", "topo_parameters"}
    if isinstance(fabric, Torus):
        lengths = [int(part) for part in attributes["topo_parameters"].split(",")]
        product = 1
        for length in lengths:
            product *= length
        assert product == count
        assert min(lengths) > 1


def test_a_tree_that_would_need_a_third_level_is_refused() -> None:
    with pytest.raises(StrettoError, match="has 648 at most"):
        FatTree(36).shape(649)


@pytest.mark.parametrize("name", platform_names())
def test_the_xml_has_the_hosts(name: str) -> None:
    platform = load_platform(name)
    root = ElementTree.fromstring(platform.xml)
    (cluster,) = root.iter("cluster")
    assert cluster.get("radical") == f"0-{len(platform.hosts) - 1}"
    assert platform.hosts[0] == "node-0"


def test_one_from_a_calibrated_machine_charges_what_the_engine_adds() -> None:
    platform = platform_of_machine(load_machine("lab"), 4, 2)
    properties = {one.get("id") for one in ElementTree.fromstring(platform.xml).iter("prop")}
    assert {"stretto/message", "stretto/round"} <= properties
    assert "stretto/message" not in load_platform("altec").xml
    # The platform's links have the nodes' sustained bandwidth, without bursts.
    seconds = ping_pong(platform, (1 << 20,))[1 << 20]
    assert (1 << 20) / seconds == pytest.approx(23.9e6, rel=0.02)


def test_a_platform_of_others(tmp_path: Path) -> None:
    file = tmp_path / "two.xml"
    file.write_text(
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1"><zone id="z" routing="Full">\n'
        '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>\n'
        '<link id="l" bandwidth="1GBps" latency="5us"/>\n'
        '<link id="la" bandwidth="9GBps" latency="1us"/>\n'
        '<route src="a" dst="b"><link_ctn id="l"/></route>\n'
        '<route src="a" dst="a"><link_ctn id="la"/></route>\n'
        '<route src="b" dst="b"><link_ctn id="la"/></route>\n'
        "</zone></platform>\n"
    )
    platform = load_platform(str(file))
    assert platform.hosts == ("a", "b")
    assert platform.machine is None
    seconds = ping_pong(platform, (1 << 20,))[1 << 20]
    assert seconds > (1 << 20) / 1e9  # by SMPI's own factors


def test_hosts_of_a_cluster_of_others(tmp_path: Path) -> None:
    file = tmp_path / "cluster.xml"
    file.write_text(
        '<platform version="4.1"><cluster id="c" prefix="n" radical="0-2,7" suffix=".org"/></platform>'
    )
    assert load_platform(str(file)).hosts == ("n0.org", "n1.org", "n2.org", "n7.org")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no xml", "not XML"),
        ("<platform/>", "no <host>"),
        ('<platform><cluster radical="a-b"/></platform>', "cannot read radical 'a-b'"),
    ],
)
def test_a_file_that_is_no_platform(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "wrong.xml"
    file.write_text(text)
    with pytest.raises(StrettoError, match=said):
        load_platform(str(file))


def test_a_name_that_is_none() -> None:
    with pytest.raises(StrettoError, match="expected a file of SimGrid's XML, or one of altec"):
        load_platform("nowhere")
