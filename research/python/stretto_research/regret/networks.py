# SPDX-License-Identifier: Apache-2.0
"""Networks to measure on, each with one short name that is the same in options, tables, files and pictures.

1x2                     2 ranks on this machine, without a lab
8x200mbit               8 nodes of one rank, with links of 200 Mbit/s
2xunlimited             2 nodes; only the processors limit their links
4x2x200mbit             4 nodes of 2 ranks
7x200mbit+1x50mbit      7 nodes, and one with a slow link
8x200mbit/2x400mbit     8 nodes in 2 racks, each with an uplink of 400 Mbit/s
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from stretto.lab.links import UNLIMITED, Links
from stretto.support.errors import StrettoError

ALL = "all"

_RATE = rf"{UNLIMITED}|\d+(?:\.\d+)?[kmgt]?bit"
_GROUP = re.compile(rf"(\d+)x(?:(\d+)x)?({_RATE})")
_UPLINKS = re.compile(rf"(\d+)x({_RATE})")
_HERE = re.compile(r"1x([1-9]\d*)")


@dataclass(frozen=True)
class Network:
    """A network, and how many ranks its nodes have."""

    links: Links | None
    """The links of its lab; None for this machine, without a lab."""
    ppn: int = 1

    @property
    def name(self) -> str:
        """The name by which options, tables and files know it."""
        if self.links is None:
            return f"1x{self.ppn}"
        ranks = f"{self.ppn}x" if self.ppn > 1 else ""
        groups = [
            f"{sum(1 for _ in equal)}x{ranks}{rate}" for rate, equal in itertools.groupby(self.links.rates)
        ]
        racks = f"/{self.links.racks}x{self.links.uplink}" if self.links.racks > 1 else ""
        return "+".join(groups) + racks

    @property
    def label(self) -> str:
        """What it is, for people: `4 nodes of 2 ranks, 200 Mbit/s`."""
        if self.links is None:
            return f"1 node of {self.ppn} ranks" if self.ppn > 1 else "1 rank"
        each = f" of {self.ppn} ranks" if self.ppn > 1 else ""
        groups = [(len([*equal]), _rate_label(rate)) for rate, equal in itertools.groupby(self.links.rates)]
        (count, rate), *others = groups
        text = f"{count} node{'s' * (count > 1)}{each}, {rate}"
        text += "".join(f", and {more} of {slower}" for more, slower in others)
        if self.links.racks > 1:
            text += f", {self.links.racks} racks with uplinks of {_rate_label(self.links.uplink)}"
        return text


def _rate_label(rate: str) -> str:
    """The rate of a link, for people: `200 Mbit/s`."""
    if rate == UNLIMITED:
        return "links without limit"
    return re.sub(r"([\d.]+)([kmgt]?)bit", lambda found: f"{found[1]} {found[2].upper()}bit/s", rate)


def parse_network(text: str) -> Network:
    """The network of that name. Raises StrettoError if it names none."""
    if here := _HERE.fullmatch(text):
        return Network(None, int(here[1]))
    nodes, slash, uplinks = text.partition("/")
    groups = [_GROUP.fullmatch(one) for one in nodes.split("+")]
    racks = _UPLINKS.fullmatch(uplinks)
    known = [one for one in groups if one]
    ppn = {int(one[2] or 1) for one in known}
    if len(known) < len(groups) or len(ppn) > 1 or (slash and not racks) or 0 in ppn:
        raise StrettoError(
            f"--networks {text}: expected NODESxRATE, NODESxRANKSxRATE or 1xRANKS, as in 8x200mbit, "
            "4x2x200mbit, 7x200mbit+1x50mbit, 8x200mbit/2x400mbit (racks and their uplinks), 1x2"
        )
    rates = [rate for one in known for rate in [one[3]] * int(one[1])]
    try:
        links = Links(tuple(rates), int(racks[1]), racks[2]) if racks else Links(tuple(rates))
    except StrettoError as error:
        raise StrettoError(f"--networks {text}: {error}") from None
    return Network(links, *ppn)


BUILT_IN = tuple(
    parse_network(name)
    for name in (
        *("1x2", "2xunlimited", "2x10gbit", "3x10gbit", "2x1gbit", "5x200mbit", "8x200mbit", "9x200mbit"),
        *("8x50mbit", "7x200mbit+1x50mbit", "8x200mbit/2x200mbit", "4x2x200mbit", "4x4x200mbit"),
    )
)
"""Networks from one node and fast links to slow links, uneven links, and nodes of several ranks."""


def parse_networks(text: str) -> list[Network]:
    """The networks of a list with commas, each once. `all` means the built-in ones."""
    found: list[Network] = []
    for name in (one.strip() for one in text.split(",")):
        found += BUILT_IN if name == ALL else [parse_network(name)]
    return list(dict.fromkeys(found))
