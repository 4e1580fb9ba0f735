# SPDX-License-Identifier: Apache-2.0
"""Compares Stretto's engine with the MPI library's own code for the same algorithm, in turns within one job.

    stretto lab up --nodes 2 --rate unlimited
    python benchmarks/engine_parity.py allreduce --mpi mpich5 --provider ofi --lab --sizes 1KiB..64MiB:4

Each algorithm is called by the library, as `native(NAME)`, and by Stretto. A ratio above 1 says that Stretto
is faster. Give each rank a core of its own: two ranks that share one measure the scheduler.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from stretto.bench.options import InPlace
from stretto.bench.request import Request
from stretto.bench.targets import Place, find_target, measure
from stretto.launch import mpi
from stretto.results.runs import Run, Series
from stretto.support.console import progress_bar
from stretto.support.estimates import Estimate, speedup
from stretto.support.files import write_atomically
from stretto.support.json_files import document_text
from stretto.support.tables import print_rows
from stretto.support.units import format_bytes, format_seconds, parse_sizes

# The library's name of an algorithm, and Stretto's spec for the same.
PAIRS: dict[str, dict[str, list[tuple[str, str]]]] = {
    "openmpi": {
        "allreduce": [
            ("recursive_doubling", "recursive_doubling"),
            ("ring", "ring"),
            ("rabenseifner", "rabenseifner"),
        ],
        "bcast": [
            ("binomial", "binomial"),
            ("pipeline:segment_bytes=128KiB", "chain:segment_bytes=128KiB"),
        ],
        "reduce": [
            ("binomial", "binomial"),
            ("pipeline:segment_bytes=64KiB", "chain:segment_bytes=64KiB"),
        ],
        "reduce_scatter": [("recursive_halving", "recursive_halving"), ("ring", "ring")],
        "allgather": [("recursive_doubling", "recursive_doubling"), ("ring", "ring"), ("bruck", "bruck")],
    },
    "mpich": {
        "allreduce": [
            ("recursive_doubling", "recursive_doubling"),
            ("reduce_scatter_allgather", "rabenseifner"),
        ],
        "bcast": [("binomial", "binomial")],
        "reduce": [("binomial", "binomial"), ("reduce_scatter_gather", "rabenseifner")],
        "reduce_scatter": [("recursive_halving", "recursive_halving"), ("pairwise", "pairwise")],
        "allgather": [("recursive_doubling", "recursive_doubling"), ("ring", "ring"), ("brucks", "bruck")],
    },
}


def parse_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description="Stretto's engine beside the MPI library's own algorithms.")
    parser.add_argument("collective", choices=list(PAIRS["openmpi"]))
    parser.add_argument("--mpi", default="openmpi", help="openmpi, openmpi5, mpich or mpich5")
    parser.add_argument("--np", type=int, default=None, help="ranks; 2 on this machine by default")
    parser.add_argument("--ppn", type=int, default=1)
    parser.add_argument("--lab", action="store_true", help="on the lab that is up")
    parser.add_argument("--lab-name", default="stretto")
    parser.add_argument("--provider", default="ucx")
    parser.add_argument("--sizes", type=parse_sizes, default=parse_sizes("1KiB..64MiB:4"))
    parser.add_argument("--in-place", choices=["no", "yes"], default="no")
    parser.add_argument("--repetitions", type=int, default=25)
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args()


def run(options: argparse.Namespace, pairs: list[tuple[str, str]]) -> Run:
    """Return the run of all pairs."""
    specs = ",".join(f"native({theirs}),{ours}" for theirs, ours in pairs)
    request = Request(options.collective, specs, options.sizes, in_place=InPlace(options.in_place))
    request = replace(request, repetitions=options.repetitions)
    lab = options.lab_name if options.lab else None
    place = Place([], options.mpi, options.np, lab, options.provider, options.ppn)
    with progress_bar("measuring") as progress:
        return measure(find_target(place), request.arguments(), progress)


def find_series(found: Run, spec: str, size: int) -> Series:
    """Return the series of one spec and size."""
    return next(one for one in found.series if (one.spec, one.bytes) == (spec, size))


def as_json(options: argparse.Namespace, name: str, size: int, ratio: Estimate) -> dict[str, Any]:
    """Return one ratio as JSON."""
    return {"mpi": options.mpi, "collective": options.collective, "algorithm": name, "bytes": size,
            "ratio": ratio.to_json()}  # fmt: skip


def main() -> None:
    """Read the options, measure and print."""
    options = parse_options()
    pairs = PAIRS[mpi.find_flavor(options.mpi).abi][options.collective]
    found = run(options, pairs)
    titles = ["size", "algorithm", "MPI library", "Stretto", "ratio (95 %)"]
    rows: list[list[str]] = []
    content: list[dict[str, Any]] = []
    ratios: dict[str, list[float]] = {ours: [] for _, ours in pairs}
    for size in options.sizes:
        for theirs, ours in pairs:
            library, engine = (find_series(found, spec, size) for spec in (f"native({theirs})", ours))
            ratio = speedup(library.seconds, engine.seconds)
            ratios[ours].append(ratio.median)
            content.append(as_json(options, ours, size, ratio))
            rows.append(
                [
                    format_bytes(size),
                    ours,
                    *(format_seconds(statistics.median(one.seconds)) for one in (library, engine)),
                    ratio.text(),
                ]
            )
    print_rows(titles, rows)
    print(f"{found.library}, {found.ranks} ranks on {found.nodes} node(s), in place: {options.in_place}")
    for name, values in ratios.items():
        print(f"{name}: median of sizes {statistics.median(values):.2f}, least {min(values):.2f}")
    if options.json:
        results = {"results": content}
        write_atomically(
            options.json, document_text("stretto-engine-parity", sys.argv, socket.gethostname(), results)
        )


if __name__ == "__main__":
    main()
