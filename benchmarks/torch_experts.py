# SPDX-License-Identifier: Apache-2.0
"""Measures an expert-parallel layer over the backend "stretto", by two kinds of all-to-alls, in turns.

    mpirun -np 8 python benchmarks/torch_experts.py --link-rate 200mbit --json experts.json

Each rank has an expert: two linear layers. A gate sends each token to one. A step is forward and backward:
four times all_to_all_single, of as many bytes a rank as the size says. They are carried out by Stretto's
choice ("auto") or by the MPI library ("native"), within one job (stretto_force). All ranks begin a step
together. Its time is the slowest rank's. --uneven lets the gate decide; otherwise each expert gets equally
many tokens.
"""

from __future__ import annotations

import argparse
import ctypes
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch_backends import seconds_of_slowest

import stretto.torch  # noqa: F401  registers the backend
import torch
from stretto.support import paths
from stretto.support.estimates import estimate_median, speedup
from stretto.support.files import write_atomically
from stretto.support.json_files import document_text
from stretto.support.tables import print_rows
from stretto.support.units import format_bytes, parse_rate, parse_sizes, three_digits

WAYS = ("auto", "native")
# A packet of 1514 bytes on the wire carries 1448 of the message.
TCP_PAYLOAD = 1448 / 1514
# Forward there and back, backward there and back.
EXCHANGES = 4


class Exchange(torch.autograd.Function):
    """Sends rows to the ranks, and their gradients back. `sent` and `received`: rows by rank, or None."""

    seconds = 0.0  # in exchanges, since it was set to 0

    @staticmethod
    def forward(  # noqa: D102
        context: Any, rows: torch.Tensor, sent: list[int] | None, received: list[int] | None
    ) -> torch.Tensor:
        context.sizes = sent, received
        return Exchange.exchange(rows, sent, received)

    @staticmethod
    def backward(context: Any, gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:  # noqa: D102
        sent, received = context.sizes
        return Exchange.exchange(gradients.contiguous(), received, sent), None, None

    @staticmethod
    def exchange(rows: torch.Tensor, sent: list[int] | None, received: list[int] | None) -> torch.Tensor:
        """Return the rows that came."""
        began = time.perf_counter()
        came = rows.new_empty((sum(received) if received else len(rows), rows.shape[1]))
        dist.all_to_all_single(came, rows, received, sent)
        Exchange.seconds += time.perf_counter() - began
        return came


class Experts(torch.nn.Module):
    """A gate, and this rank's expert."""

    def __init__(self, width: int, hidden: int, *, uneven: bool) -> None:
        super().__init__()
        self.ranks = dist.get_world_size()
        self.uneven = uneven
        self.gate = torch.nn.Linear(width, self.ranks)
        self.expert = torch.nn.Sequential(
            torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, width)
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the tokens, each carried through its expert and weighted by the gate."""
        weights = self.gate(tokens).softmax(dim=1)
        sizes: tuple[list[int] | None, list[int] | None] = None, None
        if self.uneven:
            which = weights.argmax(dim=1)
            counts = torch.bincount(which, minlength=self.ranks)
            coming = torch.empty_like(counts)
            dist.all_to_all_single(coming, counts)
            sizes = counts.tolist(), coming.tolist()
        else:
            which = torch.arange(len(tokens)) * self.ranks // len(tokens)
        order = which.argsort(stable=True)
        rows = Exchange.apply(tokens[order], *sizes)
        rows = Exchange.apply(self.expert(rows), *reversed(sizes))
        return torch.empty_like(rows).index_copy(0, order, rows) * weights.gather(1, which[:, None])


def forcing() -> Any:
    """Return stretto_force of the Stretto that carries the calls out."""
    preloaded: Any = ctypes.CDLL(None)
    if hasattr(preloaded, "stretto_force"):
        return preloaded.stretto_force
    return ctypes.CDLL(str(paths.library())).stretto_force


def time_step(model: Experts, tokens: torch.Tensor) -> tuple[float, float]:
    """Return the slowest rank's seconds of a step, and the part of them in exchanges."""
    dist.barrier()
    Exchange.seconds = 0.0
    began = time.perf_counter()
    model.zero_grad()
    model(tokens).square().mean().backward()
    seconds = time.perf_counter() - began
    return seconds_of_slowest(seconds), seconds_of_slowest(Exchange.seconds)


def measure(model: Experts, size: int, width: int, steps: int) -> dict[str, dict[str, list[float]]]:
    """Return seconds by way, in turns of alternating order; the first step of each does not count."""
    force = forcing()
    ranks = dist.get_world_size()
    # As many for each expert.
    count = size // (4 * width) // ranks * ranks
    # The tokens get gradients too, as in a network with layers below.
    tokens = torch.randn(count, width, generator=torch.Generator().manual_seed(dist.get_rank()))
    tokens.requires_grad_()
    times: dict[str, dict[str, list[float]]] = {way: {"step": [], "exchanges": []} for way in WAYS}
    for step in range(steps + 1):
        for way in WAYS if step % 2 == 0 else reversed(WAYS):
            for collective in (b"alltoall", b"alltoallv"):
                assert force(collective, way.encode(), ctypes.c_size_t(0)) == 0
            took, exchanging = time_step(model, tokens)
            if step > 0:
                times[way]["step"].append(took)
                times[way]["exchanges"].append(exchanging)
    return times


def most_tokens(width: int, ppn: list[int], rate: float) -> float:
    """Return the tokens a second of all ranks that the links allow, if nothing else takes time."""
    ranks = sum(ppn)
    # A node sends, of each of its ranks' bytes, what is for other nodes.
    most_of_token = max(of_node * (ranks - of_node) / ranks for of_node in ppn) * 4 * width * EXCHANGES
    return ranks * rate * TCP_PAYLOAD / most_of_token if most_of_token else float("inf")


def show(series: list[dict[str, Any]], width: int, ppn: list[int], rate: float | None) -> None:
    """Print tokens a second and the ratio of the steps, and what bounds them."""
    titles = [
        "a rank's bytes",
        *(f"{way}, 1000 tokens/s (95 %)" for way in WAYS),
        "speedup (95 %)",
        "in exchanges",
        "of the bound",
    ]
    rows: list[list[str]] = []
    for one in series:
        tokens = one["bytes"] // (4 * width) // sum(ppn) * sum(ppn) * sum(ppn)
        rates = {
            way: estimate_median(one["seconds"][way]["step"]).map_decreasing(lambda time, n=tokens: n / time)
            for way in WAYS
        }
        exchanging = [
            estimate_median(one["seconds"][way]["exchanges"]).median
            / estimate_median(one["seconds"][way]["step"]).median
            for way in WAYS
        ]
        rows.append(
            [
                format_bytes(one["bytes"]),
                *(rates[way].text(1e3) for way in WAYS),
                speedup(one["seconds"]["native"]["step"], one["seconds"]["auto"]["step"]).text(),
                ", ".join(f"{part:.0%}" for part in exchanging),
                f"{rates['auto'].median / most_tokens(width, ppn, rate):.0%}" if rate else "",
            ]
        )
    print_rows(titles, rows)
    if rate and len(ppn) > 1:
        most = three_digits(most_tokens(width, ppn, rate))
        print(f"The links allow {most} tokens/s if the experts take no time and a step overlaps nothing")


def main() -> None:
    """Measure, print, and write the file."""
    parser = argparse.ArgumentParser(description="Compare steps of an expert-parallel layer within one job.")
    parser.add_argument("--sizes", type=parse_sizes, default=parse_sizes("1MiB,4MiB,16MiB"))
    parser.add_argument("--width", type=int, default=512, help="elements of a token (512 unless given)")
    parser.add_argument("--hidden", type=int, default=128, help="width inside an expert (128 unless given)")
    parser.add_argument("--steps", type=int, default=9, help="steps by each way (9 unless given)")
    parser.add_argument("--uneven", action="store_true", help="the gate decides how many tokens go where")
    parser.add_argument("--link-rate", type=parse_rate, help="of each node, such as 200mbit: adds the bound")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    torch.set_num_threads(1)

    dist.init_process_group("stretto")
    rank, size = dist.get_rank(), dist.get_world_size()
    if options.steps < 1 or any(one < 4 * options.width * size for one in options.sizes):
        parser.error("--steps must be at least 1, and --sizes at least a token for each rank")
    names: list[Any] = [None] * size
    dist.all_gather_object(names, socket.gethostname())
    ppn = list(Counter(names).values())
    torch.manual_seed(1)
    model = Experts(options.width, options.hidden, uneven=options.uneven)
    series = [
        {"bytes": bytes_, "seconds": measure(model, bytes_, options.width, options.steps)}
        for bytes_ in options.sizes
    ]
    if rank == 0:
        show(series, options.width, ppn, options.link_rate)
        if options.json:
            content = {
                "torch": torch.__version__,
                "ranks": size,
                "ppn": ppn,
                "link_rate": options.link_rate,
                "width": options.width,
                "hidden": options.hidden,
                "uneven": options.uneven,
                "series": series,
            }
            write_atomically(
                options.json, document_text("stretto-torch-experts", sys.argv, socket.gethostname(), content)
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
