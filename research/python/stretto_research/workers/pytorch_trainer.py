# SPDX-License-Identifier: Apache-2.0
"""Trains with PyTorch and DistributedDataParallel, as a training script does."""

from __future__ import annotations

import contextlib
import datetime
import socket
from collections.abc import Callable
from typing import Any

import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import stretto.torch  # noqa: F401  tells the ranks of the job, and brings the backend
import torch
from stretto_research.networks.architectures import Architecture
from stretto_research.workers import torch_network
from stretto_research.workers.images import Images, Labels
from stretto_research.workers.options import Options
from torch import Tensor, nn

_MOMENTUM = 0.9
_TIMEOUT = datetime.timedelta(minutes=10)


class PytorchTrainer:
    """A module whose gradients DistributedDataParallel averages."""

    def __init__(self, architecture: Architecture, options: Options) -> None:
        torch.set_num_threads(options.threads)
        dist.init_process_group(options.backend, timeout=_TIMEOUT)
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        hosts = [""] * self.ranks
        dist.all_gather_object(hosts, socket.gethostname())
        self.nodes = len(set(hosts))
        self.about = f"PyTorch {torch.__version__}, backend {options.backend}"
        torch.manual_seed(options.seed)
        network = torch_network.build(architecture)
        self.parameters = torch_network.parameters_of(network)
        self._network = DistributedDataParallel(network)
        if options.compression != "none":
            self._network.register_comm_hook(None, _hook(options.compression))
        self._loss = nn.CrossEntropyLoss()
        self._optimizer = torch.optim.SGD(
            self._network.parameters(), lr=options.learning_rate, momentum=_MOMENTUM
        )
        self._rate = options.learning_rate

    def compute(self, images: Images, labels: Labels) -> float:
        """Do a step with learning rate zero, so that ranks keep the same parameters."""
        self._set_rate(0.0)
        with self._network.no_sync():
            loss = self._train(images, labels)
        self._set_rate(self._rate)
        return loss

    def step(self, images: Images, labels: Labels) -> float:
        """Do a forward pass, a backward pass with allreduce, and an update."""
        return self._train(images, labels)

    def agree(self) -> None:
        """Reset what compute() changed: momentum, and statistics of normalizations."""
        self._optimizer.state.clear()
        for buffer in self._network.buffers():
            dist.broadcast(buffer, 0)

    def barrier(self) -> None:
        """Wait for all ranks, by torch.distributed."""
        dist.barrier()

    def end(self) -> None:
        """Leave the group."""
        with contextlib.suppress(RuntimeError):  # the results are out already
            dist.destroy_process_group()

    def _set_rate(self, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def _train(self, images: Images, labels: Labels) -> float:
        # Images have channels last in memory. PyTorch needs channels first, or its gradients get strides
        # that differ from those of their buckets.
        pictures = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
        self._optimizer.zero_grad(set_to_none=False)
        loss = self._loss(self._network(pictures), torch.from_numpy(labels))
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())


def _hook(compression: str) -> Callable[[Any, Any], torch.futures.Future[Tensor]]:
    """Returns PyTorch's hook under another name: without GPUs, PyTorch refuses bfloat16's hook by name."""
    hooks = {"fp16": default_hooks.fp16_compress_hook, "bf16": default_hooks.bf16_compress_hook}
    own = hooks[compression]

    def compress(state: Any, bucket: Any) -> torch.futures.Future[Tensor]:
        return own(state, bucket)

    compress.__annotations__.clear()  # torch compares annotations, and cannot read them as text
    return compress


def make_trainer(architecture: Architecture, options: Options) -> PytorchTrainer:
    """Returns the trainer on this rank."""
    return PytorchTrainer(architecture, options)
