# SPDX-License-Identifier: Apache-2.0
"""Libraries above torch.distributed train a network with Stretto, in place of gloo or by its own name.

    torch_libraries.py accelerate|deepspeed|ray gloo|stretto

A rank's program; but Ray starts its ranks itself. The result must be the same as that of a single process.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from typing import Any

import torch
from torch import Tensor, nn

STEPS, SAMPLES, RATE = 10, 16, 0.1


def imported(name: str) -> Any:
    """A module that is not where mypy runs, or does not export what mypy wants."""
    return importlib.import_module(name)


dist = imported("torch.distributed")


def network() -> nn.Module:
    """The same on all ranks."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def batch(rank: int, step: int) -> tuple[Tensor, Tensor]:
    inputs = torch.randn(SAMPLES, 64, generator=torch.Generator().manual_seed(100 * step + rank))
    return inputs, inputs[:, :10].argmax(1)


def descent(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=RATE)


def loss(model: Any, inputs: Tensor, labels: Tensor) -> Any:
    return nn.functional.cross_entropy(model(inputs), labels)


def trained_alone(ranks: int) -> nn.Module:
    """The network after the steps of all ranks, by one process."""
    model = network()
    optimizer = descent(model)
    for step in range(STEPS):
        inputs, labels = map(torch.cat, zip(*(batch(rank, step) for rank in range(ranks)), strict=True))
        optimizer.zero_grad()
        loss(model, inputs, labels).backward()
        optimizer.step()
    return model


def check(model: nn.Module) -> None:
    """Stretto carried it out, and the result is right."""
    assert dist.get_world_size() == 2
    assert dist.group.WORLD._get_backend(torch.device("cpu")).name() == "stretto"
    for one, other in zip(model.parameters(), trained_alone(2).parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def by_accelerate(backend: str) -> None:
    assert backend == "gloo", "it refuses backends that it does not know"
    accelerator = imported("accelerate").Accelerator(cpu=True)
    model = network()
    model, optimizer = accelerator.prepare(model, descent(model))
    for step in range(STEPS):
        inputs, labels = batch(accelerator.process_index, step)
        optimizer.zero_grad()
        accelerator.backward(loss(model, inputs, labels))
        optimizer.step()
    check(accelerator.unwrap_model(model))
    accelerator.end_training()


def by_deepspeed(backend: str) -> None:
    """ZeRO spreads the optimizer's state, and from stage 2 on the gradients."""
    deepspeed = imported("deepspeed")
    deepspeed.init_distributed(dist_backend=backend)
    for stage in (1, 2):
        model = network()
        settings = {
            "train_micro_batch_size_per_gpu": SAMPLES,
            "zero_optimization": {"stage": stage},
            "zero_allow_untested_optimizer": True,
            "gradient_clipping": 0.0,  # it clips at 1 unless told
        }
        engine, *_ = deepspeed.initialize(model=model, optimizer=descent(model), config=settings)
        for step in range(STEPS):
            inputs, labels = batch(dist.get_rank(), step)
            engine.backward(loss(engine, inputs, labels))
            engine.step()
        check(model)
    dist.destroy_process_group()


def train_on_ray(_: Any) -> None:
    model = imported("ray.train.torch").prepare_model(network())
    optimizer = descent(model)
    for step in range(STEPS):
        inputs, labels = batch(dist.get_rank(), step)
        optimizer.zero_grad()
        loss(model, inputs, labels).backward()
        optimizer.step()
    check(model.module)


def by_ray(backend: str) -> None:
    ray, train, of_torch = imported("ray"), imported("ray.train"), imported("ray.train.torch")
    ray.init(num_cpus=2, include_dashboard=False)
    with tempfile.TemporaryDirectory() as folder:
        of_torch.TorchTrainer(
            train_on_ray,
            torch_config=of_torch.TorchConfig(backend=backend),
            scaling_config=train.ScalingConfig(num_workers=2),
            run_config=train.RunConfig(storage_path=folder),
        ).fit()


def main() -> None:
    library, backend = sys.argv[1:]
    torch.set_num_threads(1)
    {"accelerate": by_accelerate, "deepspeed": by_deepspeed, "ray": by_ray}[library](backend)
    print("right", flush=True)


if __name__ == "__main__":
    main()
