# SPDX-License-Identifier: Apache-2.0
"""What tests/interpose/long_calls.cpp does, without MPI. Arguments: RANK RANKS FOLDER.

Four calls are in flight at once, as in the backward pass of a network.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch.distributed as dist

import stretto.torch  # noqa: F401
import torch


def reduce(calls: int) -> None:
    for _ in range(calls // 4):
        tensors = [torch.ones(1 << 19) for _ in range(4)]
        for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
            work.wait()
        for tensor in tensors:
            assert tensor.eq(dist.get_world_size()).all()


def main() -> None:
    rank, ranks, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    torch.set_num_threads(1)
    dist.init_process_group("stretto", init_method="tcp://10.77.0.1:29511", rank=rank, world_size=ranks)
    reduce(12)
    if rank == 0:
        (folder / "ready").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
    dist.barrier()
    reduce(28)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("right")


if __name__ == "__main__":
    main()
