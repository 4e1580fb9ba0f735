# SPDX-License-Identifier: Apache-2.0
"""The links of an emulated cluster: a rate for each node, and racks whose uplinks share the traffic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.support.errors import StrettoError
from stretto.support.units import parse_rate

UNLIMITED = "unlimited"
MOST_NODES = 250

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
    """The rate of each node's link as tc writes it, or `unlimited` if only the processors limit it."""
    racks: int = 1
    """The number of racks. Nodes are spread evenly over them, in order."""
    uplink: str = UNLIMITED
    """The rate of each rack's link to the others; only with several racks."""
    connection: str = UNLIMITED
    """The rate of a single TCP connection in one direction, which some clouds limit."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.rates) <= MOST_NODES:
            raise StrettoError(f"--nodes {len(self.rates)}: a lab has from 1 to {MOST_NODES} nodes")
        for rate in self.rates:
            _check_rate(rate, "--rate")
        if not 1 <= self.racks <= len(self.rates):
            raise StrettoError(
                f"--racks {self.racks}: {len(self.rates)} nodes fill from 1 to {len(self.rates)} racks"
            )
        _check_rate(self.uplink, "--uplink")
        _check_rate(self.connection, "--connection")
        if self.racks == 1 and self.uplink != UNLIMITED:
            raise StrettoError(f"--uplink {self.uplink}: one rack has no uplink; give --racks 2 or more")

    @classmethod
    def even(cls, nodes: int, rate: str, racks: int = 1, uplink: str = UNLIMITED) -> Links:
        """Links of equal rates."""
        return cls((rate,) * nodes, racks, uplink)

    @classmethod
    def parse(
        cls,
        nodes: int | None,
        rate: str | None,
        rates: str | None,
        racks: int,
        uplink: str,
        connection: str = UNLIMITED,
    ) -> Links:
        """The links that the options of `stretto lab up` describe, with 8 nodes at 200mbit by default."""
        if rates is None:
            return cls((rate or "200mbit",) * (8 if nodes is None else nodes), racks, uplink, connection)
        if rate is not None:
            raise StrettoError("--rate sets all links and --rates each of them; give one of the two")
        each = tuple(one.strip() for one in rates.split(","))
        if nodes is not None and nodes != len(each):
            raise StrettoError(f"--rates {rates}: {len(each)} rate(s) for {nodes} nodes")
        return cls(each, racks, uplink, connection)

    def changed(self, rate: str | None, nodes: Sequence[int], uplink: str | None) -> Links:
        """The links after `stretto lab set`: a new rate for these nodes (or for all), or for uplinks."""
        for node in nodes:
            if not 0 <= node < self.nodes:
                raise StrettoError(f"--node {node}: the nodes are 0 to {self.nodes - 1}")
        if rate is None and uplink is None:
            raise StrettoError("nothing to set; give --rate, or --uplink")
        if rate is None and nodes:
            raise StrettoError("--node needs --rate: the new rate of its link")
        links = self
        if rate is not None:
            chosen = set(nodes) or set(range(self.nodes))
            links = replace(
                links,
                rates=tuple(rate if node in chosen else old for node, old in enumerate(self.rates)),
            )
        return links if uplink is None else replace(links, uplink=uplink)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.rates)

    @property
    def common_rate(self) -> float | None:
        """Bytes per second, if nothing but equal links of nodes limits the traffic; None otherwise.

        Limits of connections do not count, since a node may have several connections.
        """
        if len(set(self.rates)) > 1 or self.rates[0] == UNLIMITED or self.uplink != UNLIMITED:
            return None
        return parse_rate(self.rates[0])

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
        if self.racks == 1:
            return text
        uplinks = "unlimited uplinks" if self.uplink == UNLIMITED else f"uplinks of {self.uplink}"
        return f"{text}, {self.racks} racks with {uplinks}"

    def __str__(self) -> str:
        """`8 nodes at 200mbit`."""
        return f"{self.nodes} node{'s' if self.nodes > 1 else ''} at {self.rates_text}"
