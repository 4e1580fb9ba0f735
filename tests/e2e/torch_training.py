# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel learns the same by the backend "stretto" as by "gloo". A rank's program."""

from __future__ import annotations

import sys
from typing import Any

import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import stretto.torch  # noqa: F401  registers the backend
import torch

# DistributedDataParallel refuses the hook for bfloat16 by its name, unless there are GPUs.
HOOKS = {
    "none": None,
    "bf16": lambda state, bucket: default_hooks.bf16_compress_hook(state, bucket),  # noqa: PLW0108
    "fp16": default_hooks.fp16_compress_hook,
}
STEPS = 12


def train(group: Any, hook: Any, bucket_mb: float) -> tuple[torch.Tensor, float]:
    """The parameters after some steps, and the loss of the last."""
    torch.manual_seed(1)
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 200), torch.nn.ReLU(), torch.nn.BatchNorm1d(200), torch.nn.Linear(200, 10)
    )
    model = DistributedDataParallel(network, process_group=group, bucket_cap_mb=bucket_mb)
    if hook is not None:
        model.register_comm_hook(group, hook)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    digits = load_digits()
    images, labels = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    rank, size = dist.get_rank(), dist.get_world_size()
    loss = torch.zeros(())
    for step in range(STEPS):
        chosen = torch.arange(step * 32 + rank, 1600, 1600 // 32)[:32] % len(images)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        torch.autograd.backward(loss)
        optimizer.step()
    parameters = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everybody = [torch.empty_like(parameters) for _ in range(size)]
    dist.all_gather(everybody, parameters)
    assert all(torch.equal(one, parameters) for one in everybody), "the ranks have drifted apart"
    return parameters, float(loss.detach())


def distance(one: torch.Tensor, exact: torch.Tensor) -> float:
    """The distance relative to the length of the exact vector."""
    return float((one - exact).norm() / exact.norm())


def main(name: str) -> None:
    """Train by both, with one of the hooks."""
    torch.set_num_threads(1)
    dist.init_process_group("stretto")
    gloo = dist.new_group(backend="gloo")
    own = dist.new_group()
    for bucket_mb in (25.0, 0.01):
        exact, _ = train(gloo, None, bucket_mb)
        by_gloo, _ = train(gloo, HOOKS[name], bucket_mb)
        found, loss = train(own, HOOKS[name], bucket_mb)
        # Other orders of the sums change last bits. Short floats change more, with any backend.
        allowed = 1e-5 + 2 * distance(by_gloo, exact)
        far = distance(found, exact)
        assert far <= allowed, (
            f"{name}, buckets of {bucket_mb} MB: parameters differ by {far}, more than {allowed}"
        )
        assert loss < 2.3, f"{name}: nothing was learned, the loss is {loss}"
    dist.destroy_process_group()
    print("right", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
