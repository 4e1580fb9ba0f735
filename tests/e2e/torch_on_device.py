# SPDX-License-Identifier: Apache-2.0
"""Tensors on a device by "stretto": on a GPU, or on torch_device.cpp's device in the stand-in's memory.

A rank's program. Arguments: `cuda`, or a folder with libcuda.so.1 (the stand-in) and torch_device.so; and a
part: `collectives`, `streams`, `training` or `refused`.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import stretto.torch  # noqa: F401  registers the backend
import torch

torch_collectives: Any = importlib.import_module("torch_collectives")  # beside this file
DEVICE = "cuda" if sys.argv[1] == "cuda" else "standin"
BOTH = f"cpu:stretto,{DEVICE}:stretto"


class Gpu:
    """A device of CUDA. Stream 0 is the default one."""

    def __init__(self) -> None:
        any_cuda: Any = torch.cuda
        self._streams = [any_cuda.default_stream(), any_cuda.Stream(), any_cuda.Stream()]

    def use_stream(self, number: int) -> None:
        torch.cuda.set_stream(self._streams[number])

    def set_later(self, tensor: torch.Tensor, byte: int, milliseconds: int) -> None:
        """Set all bytes in the current stream, after some time."""
        any_cuda: Any = torch.cuda
        any_cuda._sleep(milliseconds * 2_000_000)  # cycles
        tensor.view(torch.int8).fill_(byte)

    def waits(self) -> int:
        """How often the default stream was waited for, where that is known."""
        return 0


class StandIn:
    """The device of torch_device.cpp. The driver's copies end late."""

    def __init__(self, folder: Path) -> None:
        driver = ctypes.CDLL(str(folder / "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
        driver.stand_in_be_late(1)
        any_torch: Any = torch
        any_torch.ops.load_library(str(folder / "torch_device.so"))
        any_torch.utils.rename_privateuse1_backend(DEVICE)
        module: Any = ModuleType(f"torch.{DEVICE}")
        module.is_available = module.is_initialized = lambda: True
        module.device_count = lambda: 1
        module.current_device = lambda: 0
        module.set_device = module._lazy_init = lambda *_: None
        any_torch._register_device_module(DEVICE, module)
        self._library = ctypes.CDLL(str(folder / "torch_device.so"))

    def use_stream(self, number: int) -> None:
        self._library.standin_use_stream(number)

    def set_later(self, tensor: torch.Tensor, byte: int, milliseconds: int) -> None:
        """Set all bytes in the current stream, after some time."""
        self._library.standin_set_later(
            ctypes.c_void_p(tensor.data_ptr()), byte, ctypes.c_size_t(tensor.nbytes), milliseconds
        )

    def waits(self) -> int:
        """How often the default stream was waited for."""
        return int(self._library.standin_waits())

    def be_foreign(self, is_foreign: bool) -> None:
        """Make tensors from now on that the driver does not know."""
        self._library.standin_be_foreign(int(is_foreign))


def collectives() -> None:
    on_host = torch_collectives.values

    def values(*arguments: Any, **named: Any) -> torch.Tensor:
        tensor: torch.Tensor = on_host(*arguments, **named)
        return tensor.to(DEVICE)

    torch_collectives.values = values
    if DEVICE == "standin":
        # PyTorch cannot take conjugates on a device without kernels of its own.
        torch_collectives.Checks.views = lambda _: None
    torch.set_default_device(DEVICE)
    torch_collectives.main(BOTH)


def streams(device: Gpu | StandIn) -> None:
    """A call sees what is in the current stream, in each form, and waits for no other stream."""
    dist.init_process_group(BOTH)
    rank, size = dist.get_rank(), dist.get_world_size()
    for stream in (0, 1, 2):
        device.use_stream(stream)
        for count in (10, 50_000):
            tensor = torch.zeros(count, dtype=torch.int8, device=DEVICE)
            device.set_later(tensor, 1, 50)
            work = dist.all_reduce(tensor, async_op=True)
            assert work is not None
            work.wait()
            torch_collectives.same(tensor.cpu(), torch.full((count,), size, dtype=torch.int8), stream, count)
            other = torch.zeros(count, dtype=torch.int8, device=DEVICE)
            if rank == 0:
                device.set_later(tensor, 7, 50)
                dist.send(tensor, 1)
            elif rank == 1:
                dist.recv(other, 0)
                torch_collectives.same(other.cpu(), torch.full((count,), 7, dtype=torch.int8), "received")
    device.use_stream(0)
    # Operations that are late in one stream delay no call in another, nor its copies to a tensor with gaps.
    # (CUDA loads a kernel at its first use, and then waits for the device.)
    device.use_stream(2)
    dist.all_reduce(torch.ones(1000, 2, device=DEVICE)[:, 0])
    device.use_stream(1)
    late = torch.zeros(10, dtype=torch.int8, device=DEVICE)
    device.set_later(late, 1, 1500)
    device.use_stream(2)
    spaced = torch.ones(1000, 2, device=DEVICE)[:, 0]
    dist.all_reduce(spaced)
    torch_collectives.same(spaced.cpu(), torch.full((1000,), float(size)), "with gaps")
    assert late.cpu().sum() == 0
    device.use_stream(1)
    dist.all_reduce(late)
    assert late.cpu().sum() == 10 * size
    assert device.waits() == 0
    dist.barrier()
    dist.destroy_process_group()
    print("right", flush=True)


def training() -> None:
    """DistributedDataParallel gives on the device what it gives on the host."""
    dist.init_process_group(BOTH)
    rank = dist.get_rank()
    results = []
    for place in ("cpu", DEVICE):
        torch.manual_seed(1)
        network = torch.nn.Sequential(
            torch.nn.Linear(20, 300), torch.nn.Tanh(), torch.nn.Linear(300, 300), torch.nn.Linear(300, 5)
        ).to(place)
        parallel = DistributedDataParallel(network, bucket_cap_mb=1)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        generator = torch.Generator().manual_seed(10 + rank)
        for _ in range(3):
            inputs = torch.randn(8, 20, generator=generator).to(place)
            optimizer.zero_grad()
            parallel(inputs).square().mean().backward()
            optimizer.step()
        results.append(torch.cat([one.detach().cpu().flatten() for one in network.parameters()]))
    on_host, on_device = results
    assert torch.allclose(on_host, on_device, rtol=1e-5, atol=1e-7)
    everybody = [torch.empty_like(on_device) for _ in range(dist.get_world_size())]
    dist.all_gather(everybody, on_device)
    assert all(torch.equal(one, on_device) for one in everybody)
    dist.destroy_process_group()
    print("right", flush=True)


def refused(device: Gpu | StandIn) -> None:
    """Memory of a device that the driver does not know, and tensors on two devices."""
    dist.init_process_group(BOTH)
    mine, there = torch.ones(4), torch.ones(4, device=DEVICE)
    size = dist.get_world_size()
    group: Any = dist.group.WORLD
    mixed = [mine, there]
    longer = [torch.ones(4 * size), torch.ones(4 * size, device=DEVICE)]
    wrong: dict[str, Callable[[], Any]] = {
        f"allgather of tensors on {DEVICE}:0 and cpu": lambda: dist.all_gather([mine] * size, there),
        f"all_gather_into_tensor of tensors on cpu and {DEVICE}:0": lambda: (
            group.allgather_into_tensor_coalesced(longer, mixed)
        ),
        f"reduce_scatter_tensor of tensors on cpu and {DEVICE}:0": lambda: (
            group.reduce_scatter_tensor_coalesced(mixed, longer)
        ),
        f"allgather_coalesced of tensors on cpu and {DEVICE}:0": lambda: group.allgather_coalesced(
            [mixed] * size, mixed
        ),
    }
    if isinstance(device, StandIn):
        device.be_foreign(True)
        foreign = torch.ones(4, device=DEVICE)
        device.be_foreign(False)
        wrong[f"allreduce of a tensor on {DEVICE}:0"] = lambda: dist.all_reduce(foreign)
    for words, call in wrong.items():
        try:
            call()
        except RuntimeError as error:
            line = str(error)
        else:
            line = "nothing"
        if words not in line:
            raise SystemExit(f"{line} instead of {words}")
    dist.all_reduce(there)
    torch_collectives.same(there.cpu(), torch.full((4,), float(size)), "after refusals")
    dist.destroy_process_group()
    print("right", flush=True)


def main() -> None:
    """Run one part."""
    device = Gpu() if DEVICE == "cuda" else StandIn(Path(sys.argv[1]))
    part = sys.argv[2]
    if part == "collectives":
        collectives()
    elif part == "streams":
        streams(device)
    elif part == "training":
        training()
    elif part == "refused":
        refused(device)


if __name__ == "__main__":
    main()
