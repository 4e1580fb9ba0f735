# SPDX-License-Identifier: Apache-2.0
"""The algorithms that MPI libraries choose by default, as SimGrid's SMPI imitates them, and the equal specs.

SMPI has the selectors of four libraries. library_tables.txt lists their choices by SMPI's names. This module
maps them to the specs that send the same messages. Some algorithms have no equal spec.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from dataclasses import dataclass
from importlib import resources

from stretto._core import collectives
from stretto.support.errors import StrettoError
from stretto.support.units import parse_bytes
from stretto_research.simulate.jobs import SELECTORS

LIBRARIES = tuple(SELECTORS)
"""openmpi, mpich, mvapich2, intelmpi"""
_ELEMENT = 4
"""Bytes of an element; equal blocks consist of whole elements."""
_BY_BLOCK = ("mvapich2", "intelmpi")
"""Libraries that choose allgather's algorithm by the bytes of a rank's block, not of the whole message."""
_ALL_BY_BLOCK = ("alltoall", "gather", "scatter")
"""Collectives whose algorithm all libraries choose by the bytes of a rank's block."""
_WITHOUT_CHOICE = ("gatherv", "scatterv", "scan", "exscan")
"""Collectives for which SMPI has only one algorithm, which imitates no library."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a node-aware algorithm."""

    among_leaders: bool
    """Whether the step runs among the nodes' leaders; otherwise it runs inside each node."""
    collective: str
    spec: str


@dataclass(frozen=True, slots=True)
class LibraryChoice:
    """The algorithm that a library chooses for a call."""

    algorithm: str
    """Its name in SMPI."""
    spec: str | None
    """The equal or nearest spec; None if there is none."""
    exact: bool
    """Whether the spec sends the same messages; otherwise it is only similar."""
    steps: tuple[Step, ...] = ()
    """The steps of a node-aware algorithm, which are more exact than the spec; empty for all others."""


@dataclass(frozen=True, slots=True)
class _Shape:
    library: str
    collective: str
    ranks: int
    ppn: int

    @property
    def is_power_of_two(self) -> bool:
        return self.ranks & (self.ranks - 1) == 0

    @property
    def has_many_leaders(self) -> bool:
        """Whether MVAPICH2 scatters among the leaders. Its rows for 16 ranks per node also do so."""
        return self.ranks > 16 and (self.ranks // self.ppn > 8 or self.ppn >= 16)


def library_choice(library: str, collective: str, ranks: int, ppn: int, nbytes: int) -> LibraryChoice:
    """Returns the library's choice for a call on floats, with a user-defined operation.

    The choice is exact at sizes that are powers of two. A library may switch anywhere between two of them.
    """
    if library not in LIBRARIES:
        raise StrettoError(f"{library!r} is not a known library: expected one of {', '.join(LIBRARIES)}")
    if collective not in collectives():
        raise StrettoError(f"{collective!r}: the choices of libraries are unknown for this collective")
    if ranks < 2 or ppn < 1 or ranks % ppn:
        raise StrettoError(f"{ranks} ranks, {ppn} a node: expected two ranks or more on equal nodes")
    shape = _Shape(library, collective, ranks, ppn)
    algorithm = _algorithm(shape, nbytes)
    spec, exact = _twin(shape, algorithm, nbytes)
    return LibraryChoice(algorithm, spec, exact, _steps(shape, algorithm, nbytes))


def _algorithm(shape: _Shape, nbytes: int) -> str:
    size = nbytes
    if shape.collective in _ALL_BY_BLOCK:
        size = max(1, nbytes // _ELEMENT // shape.ranks) * _ELEMENT
    elif shape.collective == "allgather" and shape.library != "mpich":
        block = max(1, nbytes // _ELEMENT // shape.ranks) * _ELEMENT
        size = block if shape.library in _BY_BLOCK else block * shape.ranks
    starts, algorithms = _rules(shape)
    return algorithms[bisect_right(starts, size) - 1]


@functools.cache
def _rules(shape: _Shape) -> tuple[list[int], list[str]]:
    """Returns the algorithms, and the bytes from which each is used."""
    library, collective = shape.library, shape.collective
    if (library, collective) == ("mpich", "allgather"):
        text = "rdb 512KiB:ring" if shape.is_power_of_two else "bruck 128KiB:ring"
    elif (library, collective) == ("mpich", "alltoall"):
        text = f"mvapich2_scatter_dest 32KiB:{'pair' if shape.ranks % 2 else 'ring'}"
        if shape.ranks >= _LEAST_RANKS_OF_BRUCK:
            text = f"bruck {text.replace('mvapich2', '256:mvapich2')}"
    elif collective in _WITHOUT_CHOICE:
        text = "default"
    else:
        # A library has tables by ppn. If it has none for this ppn, it uses that of the next lower ppn.
        if (library, collective) == ("intelmpi", "reduce"):
            library = "mvapich2"
        ppn_of_rows = shape.ppn
        if (library, collective) == ("mvapich2", "bcast") and shape.has_many_leaders:
            ppn_of_rows = 1
        rows = _tables()[library, collective]
        by_ranks = rows[max(ppn for ppn in rows if ppn <= ppn_of_rows)]
        text = by_ranks[max((ranks for ranks in by_ranks if ranks <= shape.ranks), default=min(by_ranks))]
    first, *others = text.split()
    pairs = [(0, first)] + [(parse_bytes(begin), name) for begin, name in (one.split(":") for one in others)]
    return [begin for begin, _ in pairs], [name for _, name in pairs]


@functools.cache
def _tables() -> dict[tuple[str, str], dict[int, dict[int, str]]]:
    result: dict[tuple[str, str], dict[int, dict[int, str]]] = {}
    file = resources.files("stretto_research.simulate") / "library_tables.txt"
    lines = file.read_text(encoding="utf-8").replace("\n    ", " ").splitlines()
    for line in (one for one in lines if not one.startswith("#")):
        library, collective, ppn, ranks, text = line.split(maxsplit=4)
        result.setdefault((library, collective), {}).setdefault(int(ppn), {})[int(ranks)] = text
    return result


# Specs by collective and SMPI's name; `~`: the spec is only similar. Other algorithms have no equal spec.
_TWINS = {
    "allreduce": {
        "rdb": "recursive_doubling",
        "rab_rdb": "rabenseifner",
        "mvapich2_rs": "rabenseifner",
        # SMPI's version takes up to twice as long, and supports only powers of two. Intel's algorithm is
        # Rabenseifner's.
        "rab1": "~rabenseifner",
        "lr": "ring",
        "ompi_ring_segmented": "ring",
        "smp_binomial": "reduce_broadcast(binomial,binomial)",
    },
    "bcast": {
        "binomial_tree": "binomial",
        "mvapich2_knomial_intra_node": "knomial:radix=4",
        "NTSL": "chain:segment_bytes=8KiB",
        "ompi_pipeline": "~chain:segment_bytes=128KiB",
        "scatter_rdb_allgather": "~scatter_recursive_doubling",
        "scatter_LR_allgather": "~scatter_allgather",
    },
    "reduce": {
        "binomial": "binomial",
        "ompi_binomial": "~binomial",
        "ompi_basic_linear": "linear",
        "ompi_pipeline": "~chain:segment_bytes=32KiB",
        "scatter_gather": "rabenseifner",
        "mvapich2_knomial": "~knomial:radix=4",
    },
    "reduce_scatter": {
        "ompi_basic_recursivehalving": "recursive_halving",
        "mpich_pair": "pairwise",
        "ompi_ring": "ring",
    },
    "allgather": {
        "bruck": "bruck",
        "rdb": "~recursive_doubling",
        "ring": "ring",
        "pair": "linear",
        "ompi_neighborexchange": "neighbor_exchange",
    },
    "alltoall": {
        "bruck": "bruck",
        "ring": "pairwise",
        # The partners are found by exclusive or, for powers of two.
        "pair": "~pairwise",
        "basic_linear": "~linear",
        "mvapich2_scatter_dest": "~linear",
    },
    "alltoallv": {
        "ring": "pairwise",
        "pair": "~pairwise",
        "ompi_basic_linear": "~linear",
        "bruck": "~linear",
    },
    "gather": {
        "ompi_binomial": "binomial",
        "ompi_basic_linear": "~linear",
        "ompi_linear_sync": "~linear",
    },
    "gatherv": {"default": "~linear"},
    "scatter": {
        "ompi_binomial": "~binomial",
        "ompi_basic_linear": "~linear",
        "ompi_linear_nb": "~linear",
    },
    "scatterv": {"default": "~linear"},
    "scan": {},
    "exscan": {},
    "barrier": {
        "ompi_bruck": "dissemination",
        "ompi_recursivedoubling": "~dissemination",
        "mvapich2_pair": "~dissemination",
    },
}
_LEAST_RANKS_OF_BRUCK = 8
"""From this number of ranks on, MPICH's alltoall of short blocks is Bruck's."""
# Binary trees in segments of some KiB. Messages of one segment are similar to binomial trees.
_BINARY_TREES = {("bcast", "NTSB"): 4 << 10, ("reduce", "ompi_binary"): 4 << 10}
_RINGS = (("allreduce", "lr"), ("allreduce", "ompi_ring_segmented"))
_TWO_LEVEL_SHORT = 4 << 10
"""Below this size, MPICH's allreduce uses recursive doubling inside a node."""
_MPICH_SHORT = 2 << 10
"""Below this size, MPICH's reduce is a binomial tree."""


def _twin(shape: _Shape, algorithm: str, nbytes: int) -> tuple[str | None, bool]:
    """Returns the equal or nearest spec, and whether it is equal."""
    key = (shape.collective, algorithm)
    if algorithm == "mvapich2":
        other = library_choice("mvapich2", shape.collective, shape.ranks, shape.ppn, nbytes)
        return other.spec, other.exact
    if algorithm == "redbcast":
        return _reduce_and_broadcast(shape, nbytes), False
    if key in _BINARY_TREES:
        return ("binomial", False) if nbytes <= _BINARY_TREES[key] else (None, False)
    if algorithm.startswith("mvapich2_two_level") and shape.collective in ("gather", "scatter"):
        return ("binomial" if shape.ppn == 1 else "smp"), False
    if algorithm in ("mvapich2_two_level", "SMP_binomial"):
        return _two_levels(shape, nbytes)
    _, slash, name = algorithm.rpartition("/")
    spec = _TWINS[shape.collective].get(name)
    if spec is None:
        return None, False
    exact = not spec.startswith("~")
    elements = nbytes // _ELEMENT
    if key == ("allgather", "rdb"):
        exact = shape.is_power_of_two
    elif key == ("allgather", "ring") and shape.ppn > 1:
        # SMPI's ring has no neighbours: each block goes to all ranks directly.
        return "linear", False
    elif key in _RINGS:
        if elements < shape.ranks:
            return "recursive_doubling", False
        # If the blocks are unequal, SMPI sends the remainder separately.
        exact = elements % shape.ranks == 0
    elif shape.collective == "reduce_scatter" and elements < shape.ranks:
        exact = False
    spec = spec.removeprefix("~")
    return (_by_leaders(shape, spec) if slash else spec), exact


def _two_levels(shape: _Shape, nbytes: int) -> tuple[str, bool]:
    """Returns the spec of a node-aware algorithm, and whether it is exact.

    Inside a node, libraries use other algorithms than our smp.
    """
    alone = shape.ppn == 1
    if shape.collective == "bcast":
        return _by_leaders(shape, "binomial"), True
    if shape.collective == "allreduce":
        return _by_leaders(shape, "recursive_doubling"), alone
    if shape.library == "mpich":
        short = nbytes < _MPICH_SHORT
        return ("binomial" if short else "rabenseifner"), alone or short
    spec = "knomial:radix=4" if shape.ranks >= 4 else "binomial"
    return (spec if alone else f"smp({spec})"), alone and shape.ranks in (4, 8, 16)


def _steps(shape: _Shape, algorithm: str, nbytes: int) -> tuple[Step, ...]:
    """Returns the steps of a two-level allreduce: a reduction inside nodes, one among them, a broadcast."""
    if (shape.collective, algorithm) != ("allreduce", "mvapich2_two_level") or shape.ppn == 1:
        return ()
    among = Step(True, "allreduce", "recursive_doubling")
    if shape.library == "mvapich2":
        tree = "knomial:radix=4"
        return Step(False, "reduce", tree), among, Step(False, "bcast", tree)
    inside = "recursive_doubling" if nbytes < _TWO_LEVEL_SHORT else "rabenseifner"
    return Step(False, "allreduce", inside), among, Step(False, "bcast", "binomial")


def _by_leaders(shape: _Shape, spec: str) -> str:
    return spec if shape.ppn == 1 else f"smp({spec})"


def _reduce_and_broadcast(shape: _Shape, nbytes: int) -> str:
    """Returns a spec with the library's choices for reduce and broadcast, unsegmented."""
    specs = []
    for collective in ("reduce", "bcast"):
        spec = library_choice(shape.library, collective, shape.ranks, shape.ppn, nbytes).spec
        specs.append("binomial" if spec is None or "segment" in spec else spec)
    return f"reduce_broadcast({','.join(specs)})"
