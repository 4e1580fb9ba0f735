# SPDX-License-Identifier: Apache-2.0
"""Parts of PyTorch that use a backend work on "stretto": functional collectives, DTensor, FSDP, ZeRO. A
rank's program.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any

import stretto.torch  # noqa: F401  registers the backend
import torch

# Not exported as mypy wants it.
dist: Any = importlib.import_module("torch.distributed")
functional: Any = importlib.import_module("torch.distributed._functional_collectives")
tensor: Any = importlib.import_module("torch.distributed.tensor")
fsdp: Any = importlib.import_module("torch.distributed.fsdp")
optim: Any = importlib.import_module("torch.distributed.optim")
init_device_mesh: Any = importlib.import_module("torch.distributed.device_mesh").init_device_mesh


def numbers(rank: int, ranks: int) -> torch.Tensor:
    """One number for each rank."""
    return torch.arange(ranks) + 10.0 * rank


def exchange(rank: int, ranks: int) -> None:
    """An all-to-all and its gradient, as expert-parallel layers call it."""
    sent = numbers(rank, ranks).requires_grad_()
    came = functional.all_to_all_single_autograd(sent, [1] * ranks, [1] * ranks, dist.group.WORLD)
    assert torch.equal(came, 10.0 * torch.arange(ranks) + rank)
    # Rank r weights the gradient of the numbers that it received.
    (came * (rank + 1)).sum().backward()
    assert sent.grad is not None
    assert torch.equal(sent.grad, torch.arange(ranks) + 1.0)


def coalesced(rank: int, ranks: int) -> None:
    """Calls that PyTorch merges into one."""
    sums = [torch.full((5,), float(rank + i)) for i in range(3)]
    with dist._coalescing_manager(async_ops=True) as works:
        for one in sums:
            dist.all_reduce(one)
    works.wait()
    for i, one in enumerate(sums):
        assert torch.equal(one, torch.full((5,), float(sum(other + i for other in range(ranks)))))


def sharded_tensor(rank: int, ranks: int) -> None:  # noqa: ARG001
    """A tensor whose rows are spread over the ranks."""
    whole = torch.arange(4.0 * ranks).view(-1, 1)
    mesh = init_device_mesh("cpu", (ranks,))
    doubled = tensor.distribute_tensor(whole, mesh, [tensor.Shard(0)]) * 2
    assert torch.equal(doubled.redistribute(mesh, [tensor.Replicate()]).to_local(), whole * 2)


def network() -> torch.nn.Sequential:
    """The same on all ranks."""
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.ReLU(), torch.nn.Linear(16, 5))


def fully_sharded(rank: int, ranks: int) -> None:  # noqa: ARG001
    """Gradients of a network whose parameters are spread over the ranks, in uneven parts."""
    whole, sharded = network(), network()
    fsdp.fully_shard(sharded, mesh=init_device_mesh("cpu", (ranks,)))
    inputs = torch.randn(6, 7)
    whole(inputs).sum().backward()
    sharded(inputs).sum().backward()
    for one, other in zip(whole.parameters(), sharded.parameters(), strict=True):
        gradients: tuple[Any, Any] = one.grad, other.grad
        assert torch.allclose(gradients[0], gradients[1].full_tensor())


def zero_redundancy(rank: int, ranks: int) -> None:  # noqa: ARG001
    """An optimizer whose state is spread over the ranks."""
    whole = network()
    spread = torch.nn.parallel.DistributedDataParallel(copy.deepcopy(whole))
    optimizers = (
        torch.optim.Adam(whole.parameters(), lr=0.1),
        optim.ZeroRedundancyOptimizer(spread.parameters(), torch.optim.Adam, lr=0.1),
    )
    inputs = torch.randn(6, 7, generator=torch.Generator().manual_seed(2))
    for model, optimizer in zip((whole, spread), optimizers, strict=True):
        model(inputs).sum().backward()
        optimizer.step()
    for one, other in zip(whole.parameters(), spread.parameters(), strict=True):
        assert torch.allclose(one, other)


def main() -> None:
    """Check all of them."""
    torch.set_num_threads(1)
    dist.init_process_group("stretto")
    for check in (exchange, coalesced, sharded_tensor, fully_sharded, zero_redundancy):
        check(dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()
    print("right", flush=True)


if __name__ == "__main__":
    main()
