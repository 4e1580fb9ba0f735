# SPDX-License-Identifier: Apache-2.0
"""Failures of a job by the backend "stretto", by name. A rank's program."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import torch

LAST = int(os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE") or 1) - 1
# The timeout of the other ranks, which wait meanwhile.
LONG = timedelta(seconds=600)


def begin(timeout: timedelta = LONG) -> int:
    """The rank."""
    import stretto.torch  # noqa: F401, PLC0415  registers the backend

    dist.init_process_group("stretto", timeout=timeout)
    return dist.get_rank()


def refusal(call: Callable[[], Any]) -> str:
    """The one line of an error that leaves the group as it was."""
    try:
        call()
    except (RuntimeError, ValueError) as error:
        lines = str(error).splitlines()
        print(f"refused: {lines[0]}", flush=True)
        return lines[0]
    raise SystemExit("it was not refused")


def refused() -> None:
    """Calls that no rank can make."""
    rank = begin()
    size = dist.get_world_size()
    ones, whole = torch.ones(4), torch.ones(4, dtype=torch.float8_e5m2)
    group: Any = dist.group.WORLD
    assert "Float8" in refusal(lambda: dist.all_reduce(whole))
    assert "bitwise and of float32" in refusal(lambda: dist.all_reduce(ones, dist.ReduceOp.BAND))
    assert "average of bool" in refusal(lambda: dist.reduce(torch.ones(4) > 0, 0, dist.ReduceOp.AVG))
    factor: Any = getattr(dist, "_make_nccl_premul_sum")(2.0)  # noqa: B009  not in torch's stubs
    assert "PREMUL_SUM" in refusal(lambda: dist.all_reduce(ones.clone(), factor))
    assert "sparse" in refusal(lambda: dist.all_reduce(ones.to_sparse()))
    backend = group._get_backend(torch.device("cpu"))
    assert "on meta" in refusal(lambda: backend.allreduce([torch.ones(4, device="meta")]))
    assert f"rank {size} of" in refusal(lambda: backend.send([ones], size, 0))
    assert "rank -1 of" in refusal(lambda: backend.recv([ones.clone()], -1, 0))
    assert "the tag is -3" in refusal(lambda: backend.send([ones], LAST - rank, -3))
    assert "the tag is -3" in refusal(lambda: backend.recv([ones.clone()], LAST - rank, -3))
    assert "ranks" in refusal(lambda: dist.all_gather([ones.clone()] * (size + 1), ones))
    assert "of one type and size" in refusal(lambda: dist.all_gather([torch.ones(5)] * size, ones))
    assert "elements" in refusal(lambda: group._allgather_base(torch.ones(3), ones).wait())
    assert "split sizes" in refusal(
        lambda: dist.all_to_all_single(ones.clone(), ones, [1] * size, [4] * size)
    )
    assert "at a time" in refusal(lambda: group.allreduce([ones, ones]).wait())
    again = dist.new_group()
    dist.destroy_process_group(again)
    assert "destroyed" in refusal(lambda: again._get_backend(torch.device("cpu")).barrier())
    # It works as before.
    dist.all_reduce(ones)
    assert torch.all(ones == size)
    dist.destroy_process_group()
    if rank == 0:
        print("right", flush=True)


def of_one_call(done: Any) -> torch.Tensor:
    result: torch.Tensor = done.value()[0]
    return result


def of_two_calls(done: Any) -> torch.Tensor:
    """A callback of the first call makes a second call and waits for it, as in PyTorch's own hooks."""
    work: Any = dist.all_reduce(of_one_call(done), async_op=True)
    result: torch.Tensor = work.get_future().wait()[0]
    return result


def hook(layers: int, result: Callable[[Any], torch.Tensor]) -> None:
    """An exception in a communication hook, on one rank; those of other layers are under way."""
    rank = begin()
    network = torch.nn.Sequential(*(torch.nn.Linear(300, 300) for _ in range(layers)))
    model = DistributedDataParallel(network, bucket_cap_mb=1)
    steps = 0

    def its_hook(_state: object, bucket: Any) -> Any:
        if rank == LAST and steps == 2 and bucket.is_last():
            raise ArithmeticError("the hook has failed")
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(result)

    its_hook.__annotations__.clear()
    model.register_comm_hook(None, its_hook)
    for steps in range(4):  # noqa: B007  the hook reads it
        model(torch.ones(3, 300)).sum().backward()


def daemon() -> None:
    """A thread makes a call that the others never make, and the process ends."""
    rank = begin()
    if rank == LAST:
        threading.Thread(target=lambda: dist.all_reduce(torch.ones(1_000_000)), daemon=True).start()
        time.sleep(0.3)


def then() -> None:
    """An exception in a callback of a work."""
    rank = begin()
    work: Any = dist.all_reduce(torch.ones(4), async_op=True)

    def fail(_done: object) -> None:
        if rank == LAST:
            raise ArithmeticError("what follows has failed")

    work.get_future().then(fail).wait()
    dist.barrier()
    dist.barrier()


def lose(how: Callable[[], None]) -> None:
    """One rank goes in the middle of a step, while the others wait for it."""
    rank = begin()
    model = DistributedDataParallel(torch.nn.Linear(300, 300))
    for step in range(3):
        if rank == LAST and step == 1:
            how()
        model(torch.ones(3, 300)).sum().backward()
    dist.barrier()


def exit_from_main() -> None:
    sys.exit(3)


def overdue() -> None:
    """A rank makes no call. The others get an error after the timeout, by the call and by its future."""
    rank = begin(timedelta(seconds=2))
    dist.barrier()
    if rank == LAST:
        time.sleep(30)
    # A wait may be shorter, and then go on.
    work: Any = dist.all_reduce(torch.ones(10), async_op=True)
    assert "has not ended after a timeout of 100 ms" in refusal(
        lambda: work.wait(timedelta(milliseconds=100))
    )
    works: list[Any] = [dist.all_reduce(torch.ones(size), async_op=True) for size in (10, 3_000_000)]
    for wait in (works[0].get_future().wait, works[1].wait):
        line = refusal(wait)
        assert "has not ended after a timeout of 2 s" in line, line
        assert "of process group" in line, line
    raise SystemExit("the others are late")


def shapes() -> None:
    """Tensors of different lengths."""
    rank = begin()
    dist.barrier()
    dist.all_reduce(torch.ones(300_000 + 4 * (rank == LAST)))
    dist.barrier()


def alone() -> None:
    """A group that not all of its ranks make."""
    rank = begin()
    if rank == LAST:
        time.sleep(30)
    dist.new_group(timeout=timedelta(seconds=2))


def threads() -> None:
    """MPI was initialized by somebody who wanted no threads."""
    import mpi4py  # noqa: PLC0415

    mpi4py.rc.thread_level = "funneled"
    from mpi4py import MPI  # noqa: F401, PLC0415

    begin()


def mpi4py_first() -> None:
    """MPI was initialized by mpi4py, which goes on to be used."""
    from mpi4py import MPI  # noqa: PLC0415

    rank = begin()
    tensor = torch.full((100_000,), float(rank))
    work: Any = dist.all_reduce(tensor, async_op=True)
    total = MPI.COMM_WORLD.allreduce(rank)
    work.wait()
    assert torch.all(tensor == total)
    dist.destroy_process_group()
    if rank == 0:
        print("right", flush=True)


def mpi4py_exception() -> None:
    """An exception that nobody caught, where mpi4py has begun MPI and will end it."""
    from mpi4py import MPI  # noqa: F401, PLC0415

    rank = begin()
    if rank == LAST:
        raise ArithmeticError("the last rank has failed")
    dist.barrier()


def mpi4py_overdue() -> None:
    """A call that was given up, and whose error was caught, where mpi4py will end MPI."""
    from mpi4py import MPI  # noqa: F401, PLC0415

    rank = begin(timedelta(seconds=2))
    dist.barrier()
    if rank == LAST:
        time.sleep(30)
    refusal(lambda: dist.all_reduce(torch.ones(10)))


CASES: dict[str, Callable[[], None]] = {
    "refused": refused,
    "hook": lambda: hook(1, of_one_call),
    "hook chain": lambda: hook(6, of_two_calls),
    "daemon": daemon,
    "then": then,
    "killed": lambda: lose(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "exit": lambda: lose(exit_from_main),
    "overdue": overdue,
    "shapes": shapes,
    "alone": alone,
    "threads": threads,
    "mpi4py": mpi4py_first,
    "mpi4py exception": mpi4py_exception,
    "mpi4py overdue": mpi4py_overdue,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    CASES[sys.argv[1]]()
