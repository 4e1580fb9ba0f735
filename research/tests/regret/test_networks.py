# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.lab.links import UNLIMITED, Links
from stretto.launch import mpi
from stretto.support.errors import StrettoError
from stretto_research.regret.libraries import ALL, Library, find_libraries, parse_library
from stretto_research.regret.networks import BUILT_IN, Network, parse_network, parse_networks

RATES = st.sampled_from(["50mbit", "200mbit", "2.5gbit", UNLIMITED])


@st.composite
def any_network(draw: st.DrawFn) -> Network:
    ppn = draw(st.integers(1, 5))
    if draw(st.booleans()):
        return Network(None, ppn)
    rates = tuple(draw(st.lists(RATES, min_size=1, max_size=12)))
    racks = draw(st.integers(1, len(rates)))
    return Network(Links(rates, racks, draw(RATES) if racks > 1 else UNLIMITED), ppn)


@given(any_network())
def test_a_name_is_read_back(network: Network) -> None:
    assert parse_network(network.name) == network


def test_what_names_mean() -> None:
    assert parse_network("1x2") == Network(None, 2)
    assert parse_network("2xunlimited") == Network(Links.even(2, UNLIMITED))
    assert parse_network("4x2x200mbit") == Network(Links.even(4, "200mbit"), 2)
    assert parse_network("2x200mbit+1x50mbit") == Network(Links(("200mbit", "200mbit", "50mbit")))
    assert parse_network("8x200mbit/2x400mbit") == Network(Links.even(8, "200mbit", 2, "400mbit"))


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("1x2", "1 node of 2 ranks"),
        ("2xunlimited", "2 nodes, links without limit"),
        ("2x2.5gbit", "2 nodes, 2.5 Gbit/s"),
        ("4x2x200mbit", "4 nodes of 2 ranks, 200 Mbit/s"),
        ("7x200mbit+1x50mbit", "7 nodes, 200 Mbit/s, and 1 of 50 Mbit/s"),
        ("8x200mbit/2x400mbit", "8 nodes, 200 Mbit/s, 2 racks with uplinks of 400 Mbit/s"),
    ],
)
def test_pictures_call_a_network_by_what_it_is(name: str, label: str) -> None:
    assert parse_network(name).label == label


def test_the_built_in_networks() -> None:
    assert len(BUILT_IN) >= 12
    assert parse_networks("all") == list(BUILT_IN)
    assert parse_networks("1x2, 2x40gbit,all")[1:3] == [parse_network("2x40gbit"), BUILT_IN[1]]


@pytest.mark.parametrize(
    "text",
    [
        *("", "8", "2x", "8x200", "x200mbit", "0x200mbit", "2x0x200mbit", "1x0", "2x2", "251x1mbit"),
        *("8x200mbit/", "8x200mbit/2", "2x1mbit/3x1mbit", "8x200mbit/1x50mbit", "8x200mbit+"),
        "2x2x1mbit+1x1x1mbit",
    ],
)
def test_what_is_no_network_is_one_line(text: str) -> None:
    with pytest.raises(StrettoError, match=r"^--networks .*") as error:
        parse_networks(f"1x2,{text}")
    assert "\n" not in str(error.value)


def test_the_names_of_libraries() -> None:
    assert [one.name for one in ALL][3:5] == ["mpich5:ucx", "mpich5:ofi"]
    assert parse_library("mpich5") == Library(mpi.Flavor.MPICH5, "ucx")
    assert parse_library("mpich5:ofi").variables == {"MPIR_CVAR_CH4_NETMOD": "ofi"}
    assert parse_library("openmpi").variables == {}
    assert [one.label for one in (*ALL[:1], *ALL[3:5])] == ["Open MPI 4", "MPICH 5 (ucx)", "MPICH 5 (ofi)"]
    assert parse_library("sockets") == Library(None)
    assert (Library(None).name, Library(None).variables) == ("sockets", {})


@pytest.mark.parametrize("name", ["openmpi:ofi", "mpich5:tcp", "mpich:", "lam", "sockets:ofi"])
def test_what_is_no_library_is_one_line(name: str) -> None:
    with pytest.raises(StrettoError, match=r"^--mpi (?!.*\n)"):
        parse_library(name)


def test_by_default_all_libraries_that_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = [one for one in mpi.installs() if one.flavor is mpi.Flavor.OPENMPI4]
    monkeypatch.setattr(mpi, "installs", lambda: here)
    assert [one.name for one in find_libraries(None)] == ["openmpi"]
    assert find_libraries("sockets,openmpi") == [Library(None), Library(mpi.Flavor.OPENMPI4)]
    with pytest.raises(StrettoError, match="--mpi mpich: MPICH 4 was not found"):
        find_libraries("openmpi,mpich")
    here.clear()
    with pytest.raises(StrettoError, match="--mpi openmpi: Open MPI 4 was not found"):
        find_libraries(None)
