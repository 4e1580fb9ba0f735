# SPDX-License-Identifier: Apache-2.0
"""Compares the messages of a decoder by the backends "stretto" and "gloo", in turns within one job.

    torchrun --nnodes 2 --nproc-per-node 2 … benchmarks/torch_decode.py --batches 1,6 --json decode.json

The decoder is split over the ranks layer by layer (tensor parallelism), as vLLM splits it. For the next token
of each sequence of a batch, each of 48 layers has two allreduces of the hidden states (5120 numbers of a
sequence, bfloat16: 10 KiB), and rank 0 gathers the logits of 32,000 words. The layers' own computation is
left out, so these are the most tokens that the messages allow. The slowest rank's time counts.
GLOO_SOCKET_IFNAME names the interface of both.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch_backends import BACKENDS, groups_of, seconds_of_slowest

import torch
from stretto.support.estimates import estimate_median, speedup
from stretto.support.files import write_atomically
from stretto.support.json_files import document_text
from stretto.support.tables import print_rows

LAYERS, WIDTH, WORDS = 48, 5120, 32_000


def time_token(group: Any, hidden: torch.Tensor, logits: torch.Tensor, parts: list[torch.Tensor]) -> float:
    """Return the slowest rank's seconds for the messages of one more token of each sequence."""
    dist.barrier()
    began = time.perf_counter()
    for _ in range(2 * LAYERS):
        dist.all_reduce(hidden, group=group)
    dist.gather(logits, parts if dist.get_rank() == 0 else None, group=group)
    return seconds_of_slowest(time.perf_counter() - began)


def measure(groups: dict[str, Any], batch: int, tokens: int) -> dict[str, list[float]]:
    """Return seconds by backend, in turns of alternating order; the first token of each does not count."""
    hidden = torch.zeros(batch, WIDTH, dtype=torch.bfloat16)
    logits = torch.zeros(batch, WORDS // dist.get_world_size(), dtype=torch.bfloat16)
    parts = [torch.empty_like(logits) for _ in range(dist.get_world_size())]
    seconds: dict[str, list[float]] = {name: [] for name in groups}
    for token in range(tokens + 1):
        for name in BACKENDS if token % 2 == 0 else reversed(BACKENDS):
            took = time_token(groups[name], hidden, logits, parts)
            if token > 0:
                seconds[name].append(took)
    return seconds


def show(series: dict[int, dict[str, list[float]]]) -> None:
    """Print a row for each batch: milliseconds for a token of each sequence, and their ratio."""
    titles = ["batch", *(f"{name}, ms (95 %)" for name in BACKENDS), "gloo / stretto (95 %)"]
    rows: list[list[str]] = []
    for batch, times in series.items():
        ratio = speedup(times["gloo"], times["stretto"])
        figures = (estimate_median(times[name]).text(1e-3) for name in BACKENDS)
        rows.append([str(batch), *figures, ratio.text()])
    print_rows(titles, rows)


def main() -> None:
    """Measure, print, and write the file."""
    parser = argparse.ArgumentParser(description="Compare a decoder's messages by stretto and gloo.")
    parser.add_argument("--batches", default="1,6", help="sequences at once (1,6 unless given)")
    parser.add_argument("--tokens", type=int, default=30, help="tokens by each backend (30 unless given)")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    batches = [int(batch) for batch in options.batches.split(",")]
    if options.tokens < 1 or min(batches) < 1:
        parser.error("--tokens and --batches must be at least 1")
    torch.set_num_threads(1)

    dist.init_process_group("stretto")
    groups = groups_of(list(range(dist.get_world_size())))
    series = {batch: measure(groups, batch, options.tokens) for batch in batches}
    if dist.get_rank() == 0:
        show(series)
        if options.json:
            content = {"torch": torch.__version__, "ranks": dist.get_world_size(), "seconds": series}
            write_atomically(
                options.json, document_text("stretto-torch-decode", sys.argv, socket.gethostname(), content)
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
