# SPDX-License-Identifier: Apache-2.0
"""What Stretto's preload and its auditor cost a process that never calls MPI.

    python benchmarks/short_processes.py [PROCESSES]

Starts a program that does nothing, in turns without and under what `stretto exec` sets, and prints for both
how long a process takes, and its time of the processor.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

from stretto.support.paths import library

PROGRAM = "/bin/true"


def measure(environment: dict[str, str]) -> tuple[float, float]:
    """Starts one process; returns its time, and its time of the processor, in ms."""
    begin = time.perf_counter()
    process = os.posix_spawn(PROGRAM, [PROGRAM], environment)
    _, status, usage = os.wait4(process, 0)
    took = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"{PROGRAM} ended with status {status}")
    return 1e3 * took, 1e3 * (usage.ru_utime + usage.ru_stime)


def main() -> None:
    """Prints the medians, and those of the differences between neighbours."""
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    preload: Path = library()
    alone = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "LD_AUDIT")}
    under = alone | {"LD_PRELOAD": str(preload), "LD_AUDIT": str(preload.with_name("libstretto-audit.so"))}
    pairs = [(measure(alone), measure(under)) for _ in range(processes)]
    for number, what in enumerate(("time", "time of the processor")):
        one = [pair[0][number] for pair in pairs]
        other = [pair[1][number] for pair in pairs]
        more = [after - before for before, after in zip(one, other, strict=True)]
        print(
            f"{what}: {statistics.median(one):.3f} ms alone, "
            f"{statistics.median(other):.3f} ms under Stretto; {statistics.median(more):.3f} ms more "
            f"(the fastest: {min(other) - min(one):.3f} ms more)"
        )


if __name__ == "__main__":
    main()
