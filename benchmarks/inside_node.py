# SPDX-License-Identifier: Apache-2.0
"""Compares collectives of ranks of one node among MPI libraries, alone and with Stretto, in turns.

    cmake --preset benchmarks && cmake --build --preset benchmarks
    python benchmarks/inside_node.py --ranks 2 --collective allreduce --mpis openmpi,mpich5,intelmpi

Each turn is one job of each library (benchmarks/interpose/memory_bound.cpp), which measures the library's
own function and Stretto in turns. The last columns are Stretto's time divided by the library's own, and by
that of the fastest library or of --against. Say how many cores the ranks have.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict

from stretto.bench.targets import local_target
from stretto.support import paths
from stretto.support.errors import StrettoError

Sample = dict[tuple[str, int], tuple[float, float]]


def measure(name: str, program: str, options: argparse.Namespace) -> Sample:
    """The microseconds of one job, {(buffers, bytes): (library, Stretto)}."""
    target = local_target(name, options.ranks)
    command = [
        "env",
        f"LD_PRELOAD={paths.library()}",
        "STRETTO_TABLE=none",
        "STRETTO_FABRIC=none",
        *([] if options.guard else ["STRETTO_ONLINE=0"]),
        f"{program}-{target.abi}",
        str(options.seconds),
        str(options.longest),
        options.collective,
    ]
    taken: Sample = {}
    with target.start(command) as process:
        assert process.stdout is not None
        for line in process.stdout:
            words = line.split()
            if line.startswith("a line to and fro"):
                print(f"{name}: {line.strip()}", flush=True)
            if len(words) > 4 and words[1] in ("hot", "cold"):
                taken[words[1], int(words[0])] = float(words[2]), float(words[3])
    return taken


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpis", default="openmpi,openmpi5,mpich,mpich5,intelmpi")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--collective", default="allreduce")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10, help="of one job")
    parser.add_argument("--longest", type=int, default=64 << 20, help="bytes")
    parser.add_argument("--against", help="a library; without it, the fastest one at each size")
    parser.add_argument("--guard", action="store_true", help="with the guard, as Stretto comes")
    parser.add_argument("--program", default="build/benchmarks/benchmarks/memory-bound")
    options = parser.parse_args()
    names = options.mpis.split(",")
    samples: dict[tuple[str, str, int], list[tuple[float, float]]] = defaultdict(list)
    for _ in range(options.turns):
        for name in names:
            for (buffers, size), times in measure(name, options.program, options).items():
                samples[name, buffers, size].append(times)
    if not samples:
        raise StrettoError(f"{options.program}: nothing was measured; build the preset benchmarks")
    print(f"{options.collective}, {options.ranks} ranks; us: medians of {options.turns} jobs in turns")
    print(f"{'bytes':>10}  {'':4}  {'':10}  {'library':>10}  {'Stretto':>10}  {'/ own':>6}  {'/ other':>7}")
    for buffers in ("hot", "cold"):
        for size in sorted({size for _, _, size in samples}):
            rows = {
                name: tuple(statistics.median(column) for column in zip(*of_job, strict=True))
                for name in names
                if (of_job := samples.get((name, buffers, size)))
            }
            libraries = {name: own for name, (own, _) in rows.items()}
            other = libraries.get(options.against, min(libraries.values()))
            for name, (own, ours) in rows.items():
                print(
                    f"{size:>10}  {buffers:4}  {name:10}  {own:>10.2f}  {ours:>10.2f}  {ours / own:>6.2f}  "
                    f"{ours / other:>7.2f}"
                )


if __name__ == "__main__":
    main()
