# SPDX-License-Identifier: Apache-2.0
"""CuPy's arrays in mpi4py's collectives, on a GPU, over an MPI library that takes host memory only.

A rank's program, for a machine with a GPU: `stretto run mpirun -n 2 python -m mpi4py cupy_on_gpu.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
COUNTS = (0, 1, SIZE - 1, SIZE + 1, 1000, 300_001)


def host(count: int, rank: int) -> Any:
    """Small whole numbers, whose sums are exact."""
    return (numpy.arange(count) % 97 + rank).astype(numpy.float32)


def sum_of(arrays: Sequence[Any]) -> Any:
    """The elements' sums."""
    return numpy.stack(arrays).sum(0, dtype=numpy.float32)


def same(found: Any, wanted: Any, *what: object) -> None:
    there = cupy.asnumpy(found)
    if not numpy.array_equal(there, wanted):
        raise SystemExit(f"{what}: {there[:8]} instead of {wanted[:8]}")


def finish(call: Callable[..., Any], form: str, *arguments: Any, **named: Any) -> None:
    """Make a call in one of MPI's forms."""
    name = call.__name__
    if form == "blocking":
        call(*arguments, **named)
    elif form == "non-blocking":
        getattr(COMM, "I" + name.lower())(*arguments, **named).Wait()
    else:
        request = getattr(COMM, name + "_init")(*arguments, **named)
        for _ in range(2):
            request.Start()
            request.Wait()
        request.Free()


def collectives(array: Callable[[Any], Any]) -> None:
    """Try every collective in each form. `array` copies values to the memory that is tested."""
    for count, form in itertools.product(COUNTS, ("blocking", "non-blocking", "persistent")):
        if count == 0 and form == "persistent":
            continue  # CuPy's address is NULL, which Open MPI 5 takes for an error of MPI_Reduce_init
        what = (count, form)
        mine = [host(count, rank) for rank in range(SIZE)]
        total = sum_of(mine)
        every = numpy.concatenate(mine)
        blocks = [host(count * SIZE, rank) for rank in range(SIZE)]
        of_mine = slice(RANK * count, (RANK + 1) * count)
        nothing = numpy.full(count, -1, numpy.float32)

        out = array(nothing)
        finish(COMM.Allreduce, form, array(mine[RANK]), out)
        same(out, total, "Allreduce", *what)
        if form != "persistent":  # it adds again
            out = array(mine[RANK])
            finish(COMM.Allreduce, form, MPI.IN_PLACE, out)
            same(out, total, "Allreduce in place", *what)
        out = array(nothing)
        finish(COMM.Reduce, form, array(mine[RANK]), out if RANK == 0 else None, root=0)
        if RANK == 0:
            same(out, total, "Reduce", *what)
        out = array(mine[RANK])
        finish(COMM.Bcast, form, out, root=SIZE - 1)
        same(out, mine[-1], "Bcast", *what)
        out = array(numpy.full(count * SIZE, -1, numpy.float32))
        finish(COMM.Allgather, form, array(mine[RANK]), out)
        same(out, every, "Allgather", *what)
        out = array(nothing)
        finish(COMM.Reduce_scatter_block, form, array(blocks[RANK]), out)
        same(out, sum_of(blocks)[of_mine], "Reduce_scatter_block", *what)
        out = array(numpy.full(count * SIZE, -1, numpy.float32))
        finish(COMM.Alltoall, form, array(blocks[RANK]), out)
        same(out, numpy.concatenate([one[of_mine] for one in blocks]), "Alltoall", *what)
        out = array(nothing)
        finish(COMM.Scan, form, array(mine[RANK]), out)
        same(out, sum_of(mine[: RANK + 1]), "Scan", *what)
        out = array(numpy.full(count * SIZE, -1, numpy.float32))
        finish(COMM.Gather, form, array(mine[RANK]), out if RANK == 0 else None, root=0)
        if RANK == 0:
            same(out, every, "Gather", *what)
        out = array(nothing)
        finish(COMM.Scatter, form, array(every) if RANK == 0 else None, out, root=0)
        same(out, mine[RANK], "Scatter", *what)


def on_device(values: Any) -> Any:
    """Copy values to the device. The host may use managed memory only after the device has finished."""
    array = cupy.asarray(values)
    cupy.cuda.get_current_stream().synchronize()
    return array


def mixed() -> None:
    """One buffer on the device, the other one in host memory; other ranks have it the other way."""
    values = host(5000, RANK)
    total = sum_of([host(5000, rank) for rank in range(SIZE)])
    for turn in range(4):
        is_there = ((turn + RANK) % 2 == 0, (turn // 2 + RANK) % 2 == 0)
        into = cupy.zeros(5000, "f") if is_there[1] else numpy.zeros(5000, "f")
        COMM.Allreduce(cupy.asarray(values) if is_there[0] else values, into)
        same(into, total, "mixed", turn)


def order() -> None:
    """A call comes after what the program has put into the default stream."""
    busy = cupy.ones((4096, 4096), "f")
    for _ in range(3):
        values = cupy.zeros(1 << 20, "f")
        for _ in range(20):
            busy = busy @ busy * 0
        values += busy[0, 0] + RANK + 1
        COMM.Allreduce(MPI.IN_PLACE, values)
        same(values, numpy.full(1 << 20, SIZE * (SIZE + 1) / 2, "f"), "order")


def freed() -> None:
    """The use of memory that was freed is an MPI error."""
    memory = cupy.cuda.Memory(1 << 24)
    address = memory.ptr
    del memory
    gone = MPI.memory.fromaddress(address, 1 << 24)
    COMM.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        COMM.Allreduce(MPI.IN_PLACE, [gone, MPI.FLOAT])
    except MPI.Exception as error:
        print(f"freed memory: {error}", flush=True)
    else:
        raise SystemExit("freed memory was no error")


def main() -> None:
    """Try each kind of memory."""
    allocators = {
        "device": cupy.cuda.MemoryPool().malloc,
        "pool": cupy.cuda.MemoryAsyncPool().malloc,
        "managed": cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc,
    }
    for name, allocator in allocators.items():
        cupy.cuda.set_allocator(allocator)
        collectives(on_device)
        if RANK == 0:
            print(f"{name}: right", flush=True)
    cupy.cuda.set_allocator(allocators["device"])
    mixed()
    order()
    freed()
    print("right", flush=True)


if __name__ == "__main__":
    main()
