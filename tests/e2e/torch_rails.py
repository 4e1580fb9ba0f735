# SPDX-License-Identifier: Apache-2.0
"""All-reduces until the file of the argument is there; each result is compared. A rank's program.

Rank 0 prints how long each call took: the seconds since the epoch at its end, and its milliseconds.
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import torch

# Not exported as mypy wants it.
dist: Any = importlib.import_module("torch.distributed")

ELEMENTS = 2 << 20


def main() -> None:
    dist.init_process_group("stretto")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    other = dist.new_group()
    call = 0
    while True:
        call += 1
        mine = torch.arange(ELEMENTS, dtype=torch.int32) * (rank + 1) + call
        short = torch.full((100,), rank + call)
        begin = time.perf_counter()
        pending = dist.all_reduce(short, group=other, async_op=True)
        dist.all_reduce(mine)
        seconds = time.perf_counter() - begin
        pending.wait()
        factor = ranks * (ranks + 1) // 2
        assert torch.equal(mine, torch.arange(ELEMENTS, dtype=torch.int32) * factor + call * ranks), call
        assert torch.all(short == ranks * (ranks - 1) // 2 + call * ranks), call
        if rank == 0:
            print(f"{time.time():.3f} {1e3 * seconds:.1f}", flush=True)
        ends = torch.tensor(float(Path(sys.argv[1]).exists()))
        dist.all_reduce(ends)
        if ends > 0:
            break
    print("right", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
