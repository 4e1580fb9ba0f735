# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed by "stretto", compared with results that are computed here.

A rank's program, of an MPI launcher or of torchrun. Argument: the name of the backend, if it is another one.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch.distributed as dist

import torch

if "RANK" not in os.environ:
    importlib.import_module("stretto.torch")  # begins MPI

SHORT = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, torch.float64, *SHORT)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
TYPES = (*FLOATS, *INTEGERS, torch.bool)
# Calls that only move data support any type.
MOVED_TYPES = (*TYPES, torch.complex64, torch.float8_e5m2)
SUM, PRODUCT, MIN, MAX = dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX
BAND, BOR, BXOR, AVG = dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR, dist.ReduceOp.AVG
ARITHMETIC = (SUM, PRODUCT, MIN, MAX)
BITWISE = (BAND, BOR, BXOR)
SIZES = (0, 1, 1000, 70_001)


def values(rank: int, count: int, kind: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Small whole numbers, whose sums and products by four ranks are exact in every type."""
    generator = torch.Generator("cpu").manual_seed(1000 * seed + rank)
    return torch.randint(0, 4, (count,), generator=generator, device="cpu").to(kind)


def combine(op: Any, tensors: list[torch.Tensor]) -> torch.Tensor:
    """What a reduction must give."""
    kind = tensors[0].dtype
    if kind == torch.bool:
        every = torch.stack(tensors)
        if op == BXOR:
            return every.sum(0) % 2 == 1
        return every.all(0) if op in (PRODUCT, MIN, BAND) else every.any(0)
    wide = [tensor.to(torch.float64 if kind.is_floating_point else torch.int64) for tensor in tensors]
    functions: dict[Any, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
        SUM: torch.add, AVG: torch.add, PRODUCT: torch.mul, MIN: torch.minimum, MAX: torch.maximum,
        BAND: torch.bitwise_and, BOR: torch.bitwise_or, BXOR: torch.bitwise_xor,
    }  # fmt: skip
    result = wide[0]
    for other in wide[1:]:
        result = functions[op](result, other)
    if op == AVG:
        # The sum is of the type itself, and then divided.
        return result.to(kind).div_(len(tensors))
    return result.to(kind)


def same(found: torch.Tensor, wanted: torch.Tensor, *what: object) -> None:
    if found.dtype != wanted.dtype or found.shape != wanted.shape or not _equal(found, wanted):
        raise SystemExit(f"{what}: {found} instead of {wanted}")


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    as_bytes = (
        tensor.contiguous().view(torch.uint8) if tensor.numel() else tensor for tensor in (one, other)
    )
    return torch.equal(*as_bytes) if one.dtype == torch.float8_e5m2 else torch.equal(one, other)


class Checks:
    """All calls on one group."""

    def __init__(self, group: Any, ranks: list[int]) -> None:
        self.group = group
        self.ranks = ranks  # of the job
        self.me = dist.get_rank()
        self.rank = ranks.index(self.me)
        self.size = len(ranks)

    def all_values(self, count: int, kind: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
        return [values(rank, count, kind, seed) for rank in self.ranks]

    def reductions(self) -> None:
        for kind, op in itertools.product(TYPES, (*ARITHMETIC, *BITWISE, AVG)):
            if (op in BITWISE and kind in FLOATS) or (op == AVG and kind not in FLOATS):
                continue
            for count in SIZES:
                inputs = self.all_values(count, kind)
                mine, wanted = inputs[self.rank], combine(op, inputs)
                tensor = mine.clone()
                dist.all_reduce(tensor, op, self.group)
                same(tensor, wanted, "all_reduce", kind, op, count)
                tensor = mine.clone()
                dist.reduce(tensor, self.ranks[-1], op, self.group)
                if self.rank == self.size - 1:
                    same(tensor, wanted, "reduce", kind, op, count)
                parts = [values(self.me, count, kind, seed) for seed in range(self.size)]
                wanted = combine(op, self.all_values(count, kind, seed=self.rank))
                result = torch.empty_like(mine)
                dist.reduce_scatter(result, parts, op, self.group)
                same(result, wanted, "reduce_scatter", kind, op, count)
                result = torch.empty_like(mine)
                dist.reduce_scatter_tensor(result, torch.cat(parts), op, self.group)
                same(result, wanted, "reduce_scatter_tensor", kind, op, count)

    def roundings(self) -> None:
        """A sum of two short floats is the exact one, rounded once; so is that of pairs of ranks."""
        for kind in SHORT:
            inputs = [values(rank, 5000, torch.float32).add_(rank + 0.1).to(kind) for rank in self.ranks]
            tensor = inputs[self.rank].clone()
            dist.all_reduce(tensor, SUM, self.group)
            if self.size == 2:
                same(tensor, (inputs[0].float() + inputs[1].float()).to(kind), "rounding", kind)
            exact = sum(one.double() for one in inputs)
            assert torch.allclose(
                tensor.double(), torch.as_tensor(exact), rtol=self.size * torch.finfo(kind).eps
            )

    def uneven_parts(self) -> None:
        parts = [values(self.me, 10 + seed, seed=seed) for seed in range(self.size)]
        result = torch.empty(10 + self.rank)
        dist.reduce_scatter(result, parts, SUM, self.group)
        same(result, combine(SUM, self.all_values(10 + self.rank, torch.float32, self.rank)), "uneven parts")
        inputs = [values(rank, 1000 * place + 1) for place, rank in enumerate(self.ranks)]
        gathered = [torch.empty_like(one) for one in inputs]
        dist.all_gather(gathered, inputs[self.rank], self.group)
        for one, wanted in zip(gathered, inputs, strict=True):
            same(one, wanted, "all_gather of uneven parts")

    def movements(self) -> None:
        for kind, count in itertools.product(MOVED_TYPES, SIZES):
            inputs = self.all_values(count, kind)
            mine, what = inputs[self.rank], (kind, count)
            tensor = mine.clone()
            dist.broadcast(tensor, self.ranks[-1], self.group)
            same(tensor, inputs[-1], "broadcast", *what)
            gathered = [torch.empty_like(mine) for _ in self.ranks]
            dist.all_gather(gathered, mine, self.group)
            for one, wanted in zip(gathered, inputs, strict=True):
                same(one, wanted, "all_gather", *what)
            whole = torch.empty(self.size * count, dtype=kind)
            work = dist.all_gather_into_tensor(whole, mine, self.group, async_op=True)
            work.wait()
            same(whole, torch.cat(inputs), "all_gather_into_tensor", *what)
            results = work.get_future().value()
            for part, wanted in zip(results, inputs, strict=True):
                if not kind.is_complex:  # the results are those of torch.view_as_real()
                    same(part, wanted, "result of all_gather_into_tensor", *what)
            is_root = self.rank == 0
            gathered = [torch.empty_like(mine) for _ in self.ranks] if is_root else []
            dist.gather(mine, gathered or None, self.ranks[0], self.group)
            for one, wanted in zip(gathered, inputs if is_root else [], strict=True):
                same(one, wanted, "gather", *what)
            result = torch.empty_like(mine)
            dist.scatter(result, inputs if is_root else None, self.ranks[0], self.group)
            same(result, mine, "scatter", *what)

    def all_to_all(self) -> None:
        for kind in MOVED_TYPES:
            # Rank r has r + t rows of three for rank t.
            def rows_for(sender: int, receiver: int, kind: torch.dtype = kind) -> torch.Tensor:
                return values(self.ranks[sender], 3 * (sender + receiver), kind, receiver).view(-1, 3)

            rows = [rows_for(self.rank, other) for other in range(self.size)]
            wanted = [rows_for(other, self.rank) for other in range(self.size)]
            found = [torch.empty_like(one) for one in wanted]
            dist.all_to_all(found, rows, self.group)
            for one, its in zip(found, wanted, strict=True):
                same(one, its, "all_to_all", kind)
            sizes = [len(one) for one in rows]
            single = torch.empty(sum(sizes), 3, dtype=kind)
            dist.all_to_all_single(single, torch.cat(rows), sizes, sizes, self.group)
            same(single, torch.cat(wanted), "all_to_all_single", kind)
            even = torch.cat([values(self.me, 5, kind, other) for other in range(self.size)])
            for is_given in (False, self.rank == 0):  # by nobody, or by one rank
                parts = [5] * self.size if is_given else None
                single = torch.empty_like(even)
                dist.all_to_all_single(single, even, parts, parts, group=self.group)
                all_parts = [values(other, 5, kind, self.rank) for other in self.ranks]
                same(single, torch.cat(all_parts), "even", kind)

    def coalesced(self) -> None:
        inputs = [self.all_values(count, torch.float32, count) for count in (5, 1000, 33)]
        tensors = [one[self.rank].clone() for one in inputs]
        dist.all_reduce_coalesced(tensors, SUM, self.group)
        for tensor, of_ranks in zip(tensors, inputs, strict=True):
            same(tensor, combine(SUM, of_ranks), "all_reduce_coalesced")
        lists = [[torch.empty(len(one[0])) for one in inputs] for _ in self.ranks]
        dist.all_gather_coalesced(lists, [one[self.rank] for one in inputs], self.group)
        for of_rank, its in enumerate(lists):
            for tensor, of_ranks in zip(its, inputs, strict=True):
                same(tensor, of_ranks[of_rank], "all_gather_coalesced")
        # The merged calls of functional collectives and FSDP.
        group: Any = self.group or dist.group.WORLD
        outputs = [torch.empty(self.size * len(one[0])) for one in inputs]
        group.allgather_into_tensor_coalesced(outputs, [one[self.rank] for one in inputs]).wait()
        for tensor, of_ranks in zip(outputs, inputs, strict=True):
            same(tensor, torch.cat(of_ranks), "allgather_into_tensor_coalesced")
        outputs = [torch.empty(len(one[0])) for one in inputs]
        group.reduce_scatter_tensor_coalesced(
            outputs, [one[self.rank].repeat(self.size) for one in inputs]
        ).wait()
        for tensor, of_ranks in zip(outputs, inputs, strict=True):
            same(tensor, combine(SUM, of_ranks), "reduce_scatter_tensor_coalesced")

    def layouts(self) -> None:
        """Tensors that are not contiguous, belong to a graph, or are inference tensors."""
        inputs = [values(rank, 600).view(20, 30) for rank in self.ranks]
        transposed = inputs[self.rank].clone().t()
        dist.all_reduce(transposed, SUM, self.group)
        same(transposed, combine(SUM, inputs).t(), "transposed")
        whole = torch.zeros(20, 60)
        whole[:, ::2] = inputs[self.rank]
        dist.broadcast(whole[:, ::2], self.ranks[0], self.group)
        same(whole[:, ::2], inputs[0], "strided")
        assert torch.all(whole[:, 1::2] == 0)
        is_root = self.rank == 0
        repeated = torch.ones(1).expand(4) if is_root else torch.zeros(4)
        dist.broadcast(repeated, self.ranks[0], self.group)  # of one element in memory
        same(repeated, torch.ones(4), "expanded")
        image = values(self.me, 2 * 3 * 4 * 5).view(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
        dist.all_reduce(image, SUM, self.group)
        same(image, combine(SUM, self.all_values(120, torch.float32)).view(2, 3, 4, 5), "channels last")
        parameter = torch.nn.Parameter(inputs[self.rank].clone())
        dist.all_reduce(parameter, SUM, self.group)
        same(parameter.data, combine(SUM, inputs), "parameter")
        with torch.inference_mode():
            tensor = inputs[self.rank].clone().t()
            dist.all_reduce(tensor, SUM, self.group)
            same(tensor, combine(SUM, inputs).t(), "inference tensor")
        scalar = torch.tensor(float(self.rank))
        dist.all_reduce(scalar, MAX, self.group)
        same(scalar, torch.tensor(float(self.size - 1)), "scalar")
        complex_values = torch.complex(inputs[self.rank], inputs[0])
        dist.all_reduce(complex_values, SUM, self.group)
        same(complex_values, torch.complex(combine(SUM, inputs), self.size * inputs[0]), "complex")

    def own_places(self) -> None:
        """A rank's own part of a tensor that is received or sent, as sharded optimizers have it."""
        for count in (10, 70_001):
            inputs = self.all_values(count, torch.float32)
            whole = torch.empty(self.size * count)
            mine = whole.narrow(0, self.rank * count, count)
            mine.copy_(inputs[self.rank])
            dist.all_gather_into_tensor(whole, mine, self.group)
            same(whole, torch.cat(inputs), "all_gather_into_tensor from its own place")
            parts = self.all_values(self.size * count, torch.float32, seed=1)
            mine.zero_()
            whole.copy_(parts[self.rank])
            dist.reduce_scatter_tensor(mine, whole, SUM, self.group)
            same(
                mine,
                combine(SUM, parts)[self.rank * count :][:count],
                "reduce_scatter_tensor to its own place",
            )

    def views(self) -> None:
        """Views whose conjugates or negatives are still to be taken."""
        self.conjugates()
        self.negatives()

    def conjugates(self) -> None:
        conjugate = torch.complex(values(self.me, 50), values(self.me, 50, seed=1)).conj()
        wanted = [torch.complex(values(rank, 50), -values(rank, 50, seed=1)) for rank in self.ranks]
        gathered = [torch.empty(50, dtype=torch.complex64) for _ in self.ranks] if self.rank == 0 else None
        dist.gather(conjugate, gathered, self.ranks[0], self.group)
        for one, its in zip(gathered or [], wanted, strict=self.rank == 0):
            same(one, its, "gather of a conjugate view")

    def negatives(self) -> None:
        def marked(count: int, seed: int = 0) -> torch.Tensor:
            view = torch.complex(torch.zeros(count), values(self.me, count, seed=seed)).conj().imag
            assert view.is_neg()
            return view

        count = 50
        inputs = [-values(rank, count) for rank in self.ranks]
        for op in (SUM, MAX, AVG):
            result = marked(count)
            dist.all_reduce(result, op, self.group)
            same(result.resolve_neg(), combine(op, inputs), "all_reduce of negatives", op)
        result = marked(count)
        dist.all_reduce_coalesced([result], MIN, self.group)
        same(result.resolve_neg(), combine(MIN, inputs), "all_reduce_coalesced of negatives")
        result = marked(count)
        dist.reduce(result, self.ranks[-1], SUM, self.group)
        if self.me == self.ranks[-1]:
            same(result.resolve_neg(), combine(SUM, inputs), "reduce of negatives")
        result = marked(count)
        dist.broadcast(result, self.ranks[-1], self.group)
        same(result.resolve_neg(), inputs[-1], "broadcast of negatives")
        whole = marked(self.size * count)
        dist.all_gather_into_tensor(whole, marked(count), self.group)
        same(whole.resolve_neg(), torch.cat(inputs), "all_gather_into_tensor of negatives")
        parts = [-values(rank, self.size * count, seed=1) for rank in self.ranks]
        own = slice(self.rank * count, (self.rank + 1) * count)
        result = marked(count)
        dist.reduce_scatter_tensor(result, marked(self.size * count, seed=1), SUM, self.group)
        same(result.resolve_neg(), combine(SUM, parts)[own], "reduce_scatter_tensor of negatives")
        whole = marked(self.size * count)
        dist.all_to_all_single(whole, marked(self.size * count, seed=1), group=self.group)
        same(whole.resolve_neg(), torch.cat([part[own] for part in parts]), "all_to_all_single of negatives")
        result = marked(count)
        pieces = [parts[0].narrow(0, rank * count, count) for rank in range(self.size)]
        dist.scatter(result, pieces if self.rank == 0 else None, self.ranks[0], self.group)
        same(result.resolve_neg(), parts[0][own], "scatter to negatives")

    def messages(self) -> None:
        if self.size < 2:
            return
        after, before = self.ranks[(self.rank + 1) % self.size], self.ranks[self.rank - 1]
        mine, result = values(self.me, 4000), torch.empty(4000)
        works = [dist.isend(mine, after, self.group, tag=3), dist.irecv(result, before, self.group, tag=3)]
        for work in works:
            assert work is not None
            work.wait()
        same(result, values(before, 4000), "isend")
        if self.rank == 0:
            sources = []
            for _ in range(self.size - 1):
                sources.append(dist.recv(result, None, self.group, tag=4))
                same(result, values(sources[-1], 4000), "recv from any")
            assert sorted(sources) == sorted(self.ranks[1:]), sources
            for other in self.ranks[1:]:
                dist.recv(result.view(40, 100).t(), other, self.group)
        else:
            dist.send(mine, self.ranks[0], self.group, tag=4)
            dist.send(mine, self.ranks[0], self.group)
        operations = [
            dist.P2POp(dist.isend, mine, after, self.group),
            dist.P2POp(dist.irecv, result, before, self.group),
        ]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        same(result, values(before, 4000), "batch_isend_irecv")

    def objects(self) -> None:
        mine = {"rank": self.me, "text": "x" * self.me}
        everybody = [{"rank": rank, "text": "x" * rank} for rank in self.ranks]
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, mine, self.group)
        assert found == everybody, found
        sent = [mine, [1, 2]]
        dist.broadcast_object_list(sent, self.ranks[-1], self.group)
        assert sent == [everybody[-1], [1, 2]], sent
        found = [None] * self.size
        dist.gather_object(mine, found if self.rank == 0 else None, self.ranks[0], self.group)
        assert self.rank != 0 or found == everybody, found
        found = [None]
        dist.scatter_object_list(found, everybody if self.rank == 0 else None, self.ranks[0], self.group)
        assert found == [mine], found

    def asynchronous(self) -> None:
        """Many calls at once: some are waited for, some tested, and some only complete their futures."""
        wanted, tensors, works = [], [], []
        for i in range(90):
            inputs = self.all_values(1 + 700 * (i % 9), torch.float32, seed=i)
            tensors.append(inputs[self.rank].clone())
            if i % 3 == 2:
                works.append(dist.broadcast(tensors[-1], self.ranks[0], self.group, async_op=True))
                wanted.append(inputs[0])
            else:
                works.append(dist.all_reduce(tensors[-1], SUM, self.group, async_op=True))
                wanted.append(combine(SUM, inputs))
        heard: list[int] = []

        def hear(i: int, future: torch.futures.Future[Any]) -> Any:
            heard.append(i)
            return future.value()

        futures = [work.get_future().then(partial(hear, i)) for i, work in enumerate(works)]
        for i in (*range(1, 90, 3), 5):
            works[i].wait()
            assert works[i].get_future().done()
        for i in range(0, 90, 3):
            while not works[i].is_completed():
                pass
            assert works[i].get_future().done()
        for i, future in enumerate(futures):
            (tensor,) = future.wait()
            same(tensor, wanted[i], "future", i)
            same(tensors[i], wanted[i], "asynchronous", i)
        assert sorted(heard) == list(range(90))
        dist.barrier(self.group)

    def one_after_the_other(self) -> None:
        """A callback of a work waits for the future of another work, as PyTorch's own hooks do."""
        inputs = self.all_values(5000, torch.float32)
        tensor, other = inputs[self.rank].clone(), inputs[self.rank].clone()

        def again(future: torch.futures.Future[Any]) -> torch.Tensor:
            (first,) = future.value()
            second = dist.all_reduce(other, SUM, self.group, async_op=True)
            third = second.get_future().then(
                lambda _: dist.all_reduce(other, MAX, self.group, async_op=True).get_future().wait()
            )
            (last,) = third.wait()
            return torch.cat([first, last])

        found = dist.all_reduce(tensor, SUM, self.group, async_op=True).get_future().then(again).wait()
        same(found, torch.cat([combine(SUM, inputs)] * 2), "futures that wait for futures")
        # The works of a hook end after the backward pass. The next call must find the group as it was.
        dist.barrier(self.group)

    def each_for_the_next(self) -> None:
        """A callback of a work waits for a work that may have ended in the same poll."""
        for _ in range(20):
            if self.rank == 0:
                time.sleep(0.005)  # the others then poll less often
            works = [dist.all_reduce(torch.ones(9), SUM, self.group, async_op=True) for _ in range(4)]
            futures = [work.get_future() for work in works]
            following = [
                future.then(partial(lambda other, _: other.wait(), futures[i - 1]))
                for i, future in enumerate(futures)
            ]
            for future in following:
                (tensor,) = future.wait()
                assert torch.all(tensor == self.size)

    def run(self) -> None:
        self.reductions()
        self.roundings()
        self.uneven_parts()
        self.movements()
        self.all_to_all()
        self.coalesced()
        self.layouts()
        self.own_places()
        self.views()
        self.messages()
        self.objects()
        self.asynchronous()
        self.one_after_the_other()
        self.each_for_the_next()


def main(backend: str = "stretto") -> None:
    """Check the group of all ranks, and subgroups while others are in use."""
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    whole: Any = dist.group.WORLD
    assert whole._get_backend(torch.device("cpu")).name() == "stretto"
    everybody = list(range(size))
    Checks(None, everybody).run()
    # Overlapping groups, which all ranks make in the same order. Calls of the two are in flight together.
    groups = [(dist.new_group(members), members) for members in (everybody[1:], everybody[::-1][:2], [0])]
    first = torch.full((5000,), float(rank))
    under_way = dist.all_reduce(first, async_op=True)
    for group, members in groups:
        if rank in members:
            Checks(group, sorted(members)).run()
    assert under_way is not None
    under_way.wait()
    assert torch.all(first == sum(everybody))
    again = dist.new_group(everybody)
    dist.destroy_process_group(again)
    dist.destroy_process_group()
    print("right", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
