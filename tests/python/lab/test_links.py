# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.lab.cluster import State
from stretto.lab.links import STATES, UNLIMITED, UP, Links
from stretto.support.errors import StrettoError

RATES = st.sampled_from(["50mbit", "200mbit", "1gbit", UNLIMITED])


@st.composite
def any_links(draw: st.DrawFn) -> Links:
    nodes, rails = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    links = nodes * rails
    rates = tuple(draw(st.lists(RATES, min_size=links, max_size=links)))
    states = tuple(draw(st.lists(st.sampled_from(STATES), min_size=links, max_size=links)))
    racks = draw(st.integers(1, nodes))
    return Links(rates, racks, draw(RATES) if racks > 1 else UNLIMITED, draw(RATES), rails, states)


def test_the_options_of_lab_up() -> None:
    assert Links.parse(None, None, None, 1, UNLIMITED) == Links.even(8, "200mbit")
    assert Links.parse(3, "1gbit", None, 1, UNLIMITED) == Links(("1gbit",) * 3)
    assert Links.parse(None, None, "200mbit, 50mbit", 1, UNLIMITED) == Links(("200mbit", "50mbit"))
    assert Links.parse(4, None, None, 2, "400mbit") == Links(("200mbit",) * 4, 2, "400mbit")
    limited = Links(("10gbit", "10gbit"), connection="1gbit")
    assert Links.parse(2, "10gbit", None, 1, UNLIMITED, "1gbit") == limited
    assert Links.parse(None, None, "10gbit,10gbit", 1, UNLIMITED, "1gbit") == limited
    two_rails = Links.parse(None, None, "2gbit,1gbit", 1, UNLIMITED, rails=2)
    assert two_rails == Links(("2gbit", "1gbit") * 2, rails=2, states=(UP,) * 4)
    assert Links.parse(2, "1gbit", None, 1, UNLIMITED, rails=2) == Links.even(2, "1gbit", rails=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((0, None, None, 1, UNLIMITED), "--nodes 0"),
        ((251, None, None, 1, UNLIMITED), "--nodes 251"),
        ((2, "fast", None, 1, UNLIMITED), "--rate fast"),
        ((2, "1mbit", "1mbit,2mbit", 1, UNLIMITED), "one of the two"),
        ((3, None, "1mbit,2mbit", 1, UNLIMITED), "2 rate.* for 3 nodes"),
        ((None, None, "1mbit,", 1, UNLIMITED), "--rate : expected"),
        ((2, None, None, 3, UNLIMITED), "--racks 3: 2 nodes"),
        ((2, None, None, 0, UNLIMITED), "--racks 0"),
        ((2, None, None, 2, "thin"), "--uplink thin"),
        ((2, None, None, 1, UNLIMITED, "thin"), "--connection thin"),
        ((2, None, None, 1, "1gbit"), "one rack has no uplink"),
        ((2, None, None, 3, UNLIMITED, UNLIMITED, 2), "--racks 3: 2 nodes"),
        ((2, None, None, 1, UNLIMITED, UNLIMITED, 0), "--rails 0"),
        ((2, None, None, 1, UNLIMITED, UNLIMITED, 9), "--rails 9"),
    ],
)
def test_wrong_options(options: tuple[Any, ...], message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        Links.parse(*options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((None, (), None), "nothing to set"),
        ((None, (0,), "1gbit"), "--node needs --rate"),
        (("1gbit", (-1,), None), "--node -1"),
        (("quick", (), None), "--rate quick"),
        (("", (), None), "--rate : expected"),
        ((None, (), "1gbit", (1,)), "--rail needs --rate or --link"),
        (("1gbit", (), None, (2,)), "--rail 2: the rails are 0 to 1"),
        ((None, (), None, (), "off"), "--link off: expected up, down or drop"),
    ],
)
def test_wrong_changes(change: tuple[Any, ...], message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        Links.even(4, "200mbit", racks=2, rails=2).changed(*change)


@given(any_links(), st.none() | RATES, st.sampled_from(STATES), st.data())
def test_a_change_is_to_the_named_links_alone(
    links: Links, rate: str | None, state: str, data: st.DataObject
) -> None:
    nodes = data.draw(st.lists(st.integers(0, links.nodes - 1)))
    rails = data.draw(st.lists(st.integers(0, links.rails - 1)))
    new = links.changed(rate, nodes, None, rails, state)
    for link in range(links.nodes * links.rails):
        rail, node = divmod(link, links.nodes)
        is_named = (node in nodes or not nodes) and (rail in rails or not rails)
        assert new.rates[link] == (rate if is_named and rate else links.rates[link])
        assert new.states[link] == (state if is_named else links.states[link])
    assert (new.racks, new.uplink, new.rails) == (links.racks, links.uplink, links.rails)


@given(any_links())
def test_racks_are_filled_evenly_and_in_order(links: Links) -> None:
    racks = [links.rack_of(node) for node in range(links.nodes)]
    assert racks == sorted(racks)
    sizes = [racks.count(rack) for rack in range(links.racks)]
    assert sum(sizes) == links.nodes
    assert max(sizes) - min(sizes) <= 1


@given(any_links(), st.booleans(), st.none() | st.integers(1, 99999))
def test_a_state_is_read_as_it_was_written(links: Links, complete: bool, owner: int | None) -> None:
    state = State("stretto-x", links, complete, owner)
    assert State.from_json(state.to_json()) == state


def test_a_state_of_an_older_release() -> None:
    text = (
        '{"name": "stretto", "rates": ["1gbit", "1gbit"], "racks": 1, "uplink": "unlimited", '
        '"connection": "unlimited", "complete": true, "owner": null}'
    )
    assert State.from_json(text) == State("stretto", Links.even(2, "1gbit"), complete=True)


def test_what_people_read() -> None:
    assert str(Links.even(1, "1gbit")) == "1 node at 1gbit"
    assert str(Links.even(2, UNLIMITED)) == "2 nodes at unlimited rate"
    assert str(Links.even(4, "1gbit", 2, "2gbit")) == "4 nodes at 1gbit, 2 racks with uplinks of 2gbit"
    assert str(Links.even(4, "1gbit", 2)) == "4 nodes at 1gbit, 2 racks with unlimited uplinks"
    assert str(Links(("10gbit",) * 2, connection="1gbit")) == "2 nodes at 10gbit, a connection at 1gbit"
    assert str(Links(("200mbit", "50mbit", "200mbit"))) == "3 nodes at 2 x 200mbit and 1 x 50mbit"
    rails = Links.even(2, "1gbit", rails=2)
    assert str(rails) == "2 nodes at 1gbit, 2 rails"
    cut = rails.changed(None, [0], None, [1], "drop")
    assert str(cut) == "2 nodes at 1gbit, 2 rails, rail 1 of node 0: drop"


def test_a_bound_needs_equal_links_that_nothing_else_limits() -> None:
    assert Links.even(3, "80mbit").common_rate == 10e6
    assert Links.even(4, "80mbit", 2).common_rate == 10e6
    assert Links.even(3, UNLIMITED).common_rate is None
    assert Links.even(4, "80mbit", 2, "1gbit").common_rate is None
    assert Links(("80mbit", "70mbit")).common_rate is None
    rails = Links.even(3, "80mbit", rails=2)
    assert rails.common_rate == 20e6
    assert rails.changed(None, [0], None, state="down").common_rate is None
