# SPDX-License-Identifier: Apache-2.0
"""What a study compares, and by which names the papers know it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from stretto.launch.run import check_spec
from stretto.spec.native import native_by
from stretto.support.errors import StrettoError
from stretto.support.units import split_list

AUTO = "native"
STRETTO = "auto"


class Kind(StrEnum):
    """What a candidate is."""

    AUTO = "what the library does by itself"
    LIBRARY = "an algorithm of the library's own"
    PIPELINING = "the library's non-blocking call, whole or in concurrent segments"
    STRETTO = "what Stretto does by itself"
    OWN = "an algorithm of Stretto's"


# The blocking call is BL; its non-blocking one and a wait NBL; k of them on k segments NBLxk (Castelló,
# Quintana-Ortí, Duato 2021, Figs. 2-3).
_PIPELINING = tuple(f"native:segments={count}" for count in (1, 2, 4, 8))

# Of each collective's algorithms those that are best somewhere: for short messages, for long ones without and
# with segments, and for several ranks a node.
_OWN = {
    "allreduce": (
        "recursive_doubling",
        "rabenseifner",
        "rabenseifner:segment_bytes=1MiB",
        "ring",
        "ring:segment_bytes=256KiB",
        "smp(ring):segment_bytes=128KiB",
        "multilane(ring):segment_bytes=256KiB",
        "multilane(rabenseifner):segment_bytes=1MiB",
    ),
    "bcast": (
        "binomial",
        "scatter_allgather",
        "chain:segment_bytes=8KiB",
        "chain:segment_bytes=32KiB",
        "smp(chain):segment_bytes=32KiB",
    ),
    "reduce": (
        "binomial",
        "rabenseifner:segment_bytes=1MiB",
        "chain:segment_bytes=8KiB",
        "chain:segment_bytes=32KiB",
        "smp(chain):segment_bytes=32KiB",
    ),
    "reduce_scatter": (
        "recursive_halving",
        "pairwise",
        "ring",
        "ring:segment_bytes=256KiB",
        "multilane:segment_bytes=256KiB",
    ),
    "allgather": (
        "recursive_doubling",
        "bruck",
        "ring",
        "ring:segment_bytes=256KiB",
        "multilane:segment_bytes=256KiB",
    ),
}


def kind_of(spec: str) -> Kind:
    """What a spec is in a study."""
    if spec == AUTO:
        return Kind.AUTO
    if spec == STRETTO:
        return Kind.STRETTO
    if spec.startswith("native("):
        return Kind.LIBRARY
    return Kind.PIPELINING if spec.startswith("native:") else Kind.OWN


def label_of(spec: str) -> str:
    """How figures and tables name it: as the papers do what they have, by its spec what they have not."""
    if spec == AUTO:
        return "AUTO"
    if spec == STRETTO:
        return "Stretto"
    segments = re.fullmatch(r"native:segments=(\d+)", spec)
    if segments:
        return "NBL" if segments[1] == "1" else f"NBLx{segments[1]}"
    return spec


def without_parameters(spec: str) -> str:
    """The algorithm and its parts: `smp(knomial:radix=4)` of `smp(knomial:radix=4):segments=2`."""
    depth = 0
    for place, letter in enumerate(spec):
        depth += (letter == "(") - (letter == ")")
        if letter == ":" and depth <= 0:
            return spec[:place]
    return spec


def own_specs(algorithms: str, ppn: Sequence[int]) -> list[str]:
    """Stretto's own ways for a collective's algorithms that are of use on nodes with so many ranks each."""
    from stretto import _core  # noqa: PLC0415  the command line starts without the compiled module

    topology = _core.Topology(f"ppn={'+'.join(map(str, ppn))}")
    return [
        spec
        for spec in _OWN[algorithms]
        if not _core.misfit(algorithms, _core.parse_spec(spec, algorithms).recipe, topology)
    ]


def read_specs(text: str, algorithms: str) -> list[str]:
    """The specs of a list with commas, each checked."""
    specs = [spec.strip() for spec in split_list(text)]
    if not all(specs):
        raise StrettoError(f"--specs {text}: expected specs with single commas between, e.g. ring,swing")
    for spec in specs:
        check_spec(algorithms, spec)
    return specs


def candidates(
    algorithms: str, ppn: Sequence[int], library: Sequence[str] = (), own: Sequence[str] = ()
) -> list[str]:
    """The specs of a study, each once, AUTO first.

    `library`: names of the library's own algorithms; `own` in place of Stretto's usual ones.
    """
    named = [native_by(name) for name in library]
    others = own or own_specs(algorithms, ppn)
    return list(dict.fromkeys([AUTO, STRETTO, *named, *_PIPELINING, *others]))
