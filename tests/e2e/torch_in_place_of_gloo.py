# SPDX-License-Identifier: Apache-2.0
"""Groups of "gloo" that are Stretto's do what gloo does. A rank's program, with STRETTO_REPLACE=gloo."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from torch.nn.parallel import DistributedDataParallel

import torch

# Not exported as mypy wants it.
dist: Any = importlib.import_module("torch.distributed")

CPU = torch.device("cpu")
SECONDS = timedelta(seconds=100)


def carrier(group: Any) -> str:
    """The name of the backend that carries out its calls."""
    name: str = group._get_backend(CPU).name()
    return name


def check_names() -> None:
    """However a program asks for gloo, it gets Stretto, under gloo's name."""
    for asked in ("gloo", "cpu:gloo", "cpu:gloo,cuda:gloo"):
        group = dist.new_group(backend=asked)
        assert carrier(group) == "stretto", asked
        assert dist.get_backend(group) == asked
        assert group.name() == "gloo", asked
        check_training(group)
        dist.destroy_process_group(group)
    group = dist.new_group(backend="gloo", timeout=timedelta(seconds=77))
    assert group._get_backend(CPU).options._timeout == timedelta(seconds=77)
    assert group._get_sequence_number_for_group() == 0
    dist.distributed_c10d._set_pg_timeout(SECONDS, group)
    dist.monitored_barrier(group)
    # A program that names the class gets gloo.
    alone = real_group("alone")
    assert alone.name() == "gloo"
    dist.barrier()  # gloo fails on a rank that still makes connections if another one closes them


def check_training(group: Any) -> None:
    """PyTorch's C++ looks into the group, too."""
    model = DistributedDataParallel(torch.nn.Linear(3, 1, bias=False), process_group=group)
    model(torch.full((1, 3), dist.get_rank() + 1.0)).sum().backward()
    (gradient,) = (one.grad for one in model.parameters())
    assert gradient is not None
    assert torch.allclose(gradient, torch.full((1, 3), (dist.get_world_size() + 1) / 2)), gradient


def check_parts() -> None:
    """A group can be split, and groups merged, as gloo's can."""
    whole, rank = dist.group.WORLD, dist.get_rank()
    assert whole._get_backend(CPU).supports_splitting
    whole_again = whole.split_group([0, 1], timeout=SECONDS, group_name="whole")
    (alone,) = (whole.split_group([one], timeout=SECONDS) for one in range(2) if one == rank)
    for part, total in ((whole_again, 2), (alone, 1)):
        assert (part.name(), carrier(part), part.size()) == ("gloo", "stretto", total)
        tensor = torch.ones(5)
        part.allreduce([tensor]).wait()
        assert torch.all(tensor == total)
    check_training(whole_again)
    assert whole.split_group([1 - rank], timeout=SECONDS) is None
    store = dist.PrefixStore("merged", dist.distributed_c10d._get_default_store())
    merged = alone.merge_remote_group(store, 2, timeout=SECONDS)
    tensor = torch.ones(5)
    merged.allreduce([tensor]).wait()
    assert torch.all(tensor == 2)


def real_group(name: str) -> Any:
    """A group of gloo itself."""
    store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())
    return dist.ProcessGroupGloo(store, dist.get_rank(), dist.get_world_size(), timeout=SECONDS)


def numbers(seed: int, kind: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(100 * seed + dist.get_rank())
    return torch.randint(0, 9, (6,), generator=generator).to(kind)


def sparse() -> torch.Tensor:
    places = torch.tensor([[dist.get_rank(), dist.get_rank() + 1]])
    return torch.sparse_coo_tensor(places, numbers(1)[:2], (10,))


Result = list[torch.Tensor]


def several(call: str) -> Callable[[Any], Result]:
    """A call with two tensors of each rank."""

    def make(group: Any) -> Result:
        tensors = [numbers(2), numbers(3)]
        getattr(group, call)(tensors).wait()
        return tensors

    return make


def several_gathered(group: Any) -> Result:
    inputs = [numbers(4), numbers(5)]
    outputs = [[torch.empty(6) for _ in range(2 * group.size())] for _ in inputs]
    group.allgather(outputs, inputs).wait()
    return [tensor for one in outputs for tensor in one]


def sparse_sum(group: Any) -> Result:
    tensor = sparse()
    work = group.allreduce([tensor])
    work.wait()
    (result,) = work.result()
    return [result.to_dense()]


def complex_sums(group: Any) -> Result:
    kind = torch.complex64
    size, reduced = group.size(), torch.complex(numbers(6), numbers(7))
    group.reduce(reduced, 0).wait()
    part, parts = torch.empty(6, dtype=kind), [torch.complex(numbers(8 + i), numbers(9)) for i in range(size)]
    group.reduce_scatter(part, parts).wait()
    whole, average = torch.cat(parts), torch.empty(6, dtype=kind)
    options = dist.ReduceScatterOptions()
    options.reduceOp = dist.ReduceOp.AVG
    group._reduce_scatter_base(average, whole, options).wait()
    return [*([reduced] if dist.get_rank() == 0 else []), part, average]


def check_what_stretto_does_not_do() -> None:
    """The results are gloo's own: of sparse tensors, of several tensors at once, and of complex numbers."""
    ours = dist.new_group(backend="gloo")._get_backend(CPU)
    gloo = real_group("other")
    for call in (sparse_sum, several("allreduce"), several("broadcast"), several_gathered, complex_sums):
        for found, wanted in zip(call(ours), call(gloo), strict=True):
            assert torch.equal(found, wanted), (call, found, wanted)
    ones = sparse()
    dist.all_reduce(ones)
    assert torch.equal(ones.to_dense(), sparse_sum(gloo)[0])


def main() -> None:
    """Check all of it, with PyTorch's default for tensors on the CPU."""
    torch.set_num_threads(1)
    dist.init_process_group(timeout=SECONDS)
    assert carrier(dist.group.WORLD) == "stretto"
    check_names()
    check_parts()
    check_what_stretto_does_not_do()
    dist.destroy_process_group()
    print("right", flush=True)


if __name__ == "__main__":
    main()
