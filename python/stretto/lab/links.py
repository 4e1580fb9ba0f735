# SPDX-License-Identifier: Apache-2.0
"""The links of an emulated cluster: one or more for each node, and racks whose uplinks share the traffic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.support.errors import StrettoError
from stretto.support.units import parse_rate

UNLIMITED = "unlimited"
MOST_NODES = 250
MOST_RAILS = 8
UP, DOWN, DROP = STATES = ("up", "down", "drop")

_RATE = re.compile(r"\d+(\.\d+)?[kmgt]?bit")


def _check_rate(rate: str, option: str) -> None:
    if rate != UNLIMITED and not _RATE.fullmatch(rate):
        raise StrettoError(
            f"{option} {rate}: expected a rate as tc writes it (200mbit, 1gbit, 500kbit), or unlimited"
        )


@dataclass(frozen=True)
class Links:
    """The rate of every link, in both directions. Raises StrettoError if no lab can have such links."""

    rates: tuple[str, ...]
    """The rate of each link as tc writes it, or `unlimited` if only the processors limit it.

    The links of all nodes to the first rail come first, then those to the second one.
    """
    racks: int = 1
    """The number of racks. Nodes are spread evenly over them, in order."""
    uplink: str = UNLIMITED
    """The rate of each rack's link to the others; only with several racks."""
    connection: str = UNLIMITED
    """The rate of a single TCP connection in one direction, which some clouds limit."""
    rails: int = 1
    """The number of networks. They share nothing, and every node has a link to each."""
    states: tuple[str, ...] = ()
    """Whether each link is `up` or `down`, or silently drops all packets (`drop`). By default all are up."""

    def __post_init__(self) -> None:
        if not 1 <= self.rails <= MOST_RAILS:
            raise StrettoError(f"--rails {self.rails}: a lab has from 1 to {MOST_RAILS} rails")
        if not 1 <= self.nodes <= MOST_NODES:
            raise StrettoError(f"--nodes {self.nodes}: a lab has from 1 to {MOST_NODES} nodes")
        if not self.states:
            object.__setattr__(self, "states", (UP,) * len(self.rates))
        for state in self.states:
            if state not in STATES:
                raise StrettoError(f"--link {state}: expected {', '.join(STATES[:-1])} or {STATES[-1]}")
        for rate in self.rates:
            _check_rate(rate, "--rate")
        if not 1 <= self.racks <= self.nodes:
            raise StrettoError(f"--racks {self.racks}: {self.nodes} nodes fill from 1 to {self.nodes} racks")
        _check_rate(self.uplink, "--uplink")
        _check_rate(self.connection, "--connection")
        if self.racks == 1 and self.uplink != UNLIMITED:
            raise StrettoError(f"--uplink {self.uplink}: one rack has no uplink; give --racks 2 or more")

    @classmethod
    def even(cls, nodes: int, rate: str, racks: int = 1, uplink: str = UNLIMITED, rails: int = 1) -> Links:
        """Links of equal rates."""
        return cls((rate,) * nodes * rails, racks, uplink, rails=rails)

    @classmethod
    def parse(
        cls,
        nodes: int | None,
        rate: str | None,
        rates: str | None,
        racks: int,
        uplink: str,
        connection: str = UNLIMITED,
        rails: int = 1,
    ) -> Links:
        """The links that the options of `stretto lab up` describe, with 8 nodes at 200mbit by default."""
        if rates is None:
            each = (rate or "200mbit",) * (8 if nodes is None else nodes)
            return cls(each * rails, racks, uplink, connection, rails)
        if rate is not None:
            raise StrettoError("--rate sets all links and --rates each of them; give one of the two")
        each = tuple(one.strip() for one in rates.split(","))
        if nodes is not None and nodes != len(each):
            raise StrettoError(f"--rates {rates}: {len(each)} rate(s) for {nodes} nodes")
        return cls(each * rails, racks, uplink, connection, rails)

    def changed(
        self,
        rate: str | None,
        nodes: Sequence[int],
        uplink: str | None,
        rails: Sequence[int] = (),
        state: str | None = None,
    ) -> Links:
        """The links after `stretto lab set`.

        The rate and state are for these nodes' links to these rails. If none are named, for those of all.
        """
        for option, chosen, number in (("node", nodes, self.nodes), ("rail", rails, self.rails)):
            for one in chosen:
                if not 0 <= one < number:
                    raise StrettoError(f"--{option} {one}: the {option}s are 0 to {number - 1}")
            if chosen and rate is None and state is None:
                raise StrettoError(f"--{option} needs --rate or --link: what is new about its links")
        if rate is None and state is None and uplink is None:
            raise StrettoError("nothing to set; give --rate, --link or --uplink")
        links = {
            rail * self.nodes + node
            for rail in rails or range(self.rails)
            for node in nodes or range(self.nodes)
        }

        def with_new(new: str | None, old: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(one if new is None or link not in links else new for link, one in enumerate(old))

        return replace(
            self,
            rates=with_new(rate, self.rates),
            states=with_new(state, self.states),
            uplink=self.uplink if uplink is None else uplink,
        )

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.rates) // self.rails

    @property
    def common_rate(self) -> float | None:
        """Bytes per second of a node, if nothing but equal links limits the traffic; None otherwise.

        Limits of connections do not count, since a node may have several connections.
        """
        if len(set(self.rates)) > 1 or self.rates[0] == UNLIMITED or self.uplink != UNLIMITED:
            return None
        return parse_rate(self.rates[0]) * self.rails if set(self.states) == {UP} else None

    def rack_of(self, node: int) -> int:
        """The rack of a node."""
        return node * self.racks // self.nodes

    @property
    def rates_text(self) -> str:
        """The rates as text, such as `200mbit` or `2 x 200mbit and 1 x 50mbit`, with all other limits."""
        counts = Counter(self.rates)
        if len(counts) == 1:
            text = "unlimited rate" if self.rates[0] == UNLIMITED else self.rates[0]
        else:
            parts = [f"{number} x {rate}" for rate, number in counts.items()]
            text = f"{', '.join(parts[:-1])} and {parts[-1]}"
        if self.connection != UNLIMITED:
            text += f", a connection at {self.connection}"
        if self.rails > 1:
            text += f", {self.rails} rails"
        if self.racks > 1:
            uplinks = "unlimited uplinks" if self.uplink == UNLIMITED else f"uplinks of {self.uplink}"
            text += f", {self.racks} racks with {uplinks}"
        for link, state in enumerate(self.states):
            if state != UP:
                text += f", rail {link // self.nodes} of node {link % self.nodes}: {state}"
        return text

    def __str__(self) -> str:
        """`8 nodes at 200mbit`."""
        return f"{self.nodes} node{'s' if self.nodes > 1 else ''} at {self.rates_text}"
