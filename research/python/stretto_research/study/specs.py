# SPDX-License-Identifier: Apache-2.0
"""The specs that a study compares."""

from __future__ import annotations

from collections.abc import Sequence

from stretto import _core
from stretto.spec.checks import check_spec, split_specs
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE, native_by

# The papers call the blocking call BL, a non-blocking call and a wait NBL, and k of these on k segments
# NBLxk (Castelló, Quintana-Ortí, Duato 2021, Figs. 2-3).
_PIPELINING = tuple(f"native:segments={count}" for count in (1, 2, 4, 8))


def own_specs(algorithms: str, ppn: Sequence[int]) -> list[str]:
    """Returns the specs of the registry's short list that support nodes with these numbers of ranks."""
    topology = _core.Topology(f"ppn={'+'.join(map(str, ppn))}")
    return [
        spec
        for listed in _core.short_list(algorithms)
        if not _core.why_unsupported(algorithms, listed.recipe, topology)
        for spec in listed.specs
    ]


def read_specs(text: str, algorithms: str) -> list[str]:
    """Returns the specs of a comma-separated list. Raises StrettoError for an invalid spec."""
    specs = split_specs(text)
    for spec in specs:
        check_spec(algorithms, spec)
    return specs


def candidates(
    algorithms: str, ppn: Sequence[int], library: Sequence[str] = (), own: Sequence[str] = ()
) -> list[str]:
    """Returns the specs of a study without repetitions, the MPI default first.

    `library`: the names of the library's own algorithms. `own`: specs that replace Stretto's usual specs.
    """
    named = [native_by(name) for name in library]
    others = own or own_specs(algorithms, ppn)
    return list(dict.fromkeys([NATIVE, STRETTO, *named, *_PIPELINING, *others]))
