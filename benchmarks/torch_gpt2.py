# SPDX-License-Identifier: Apache-2.0
"""A network of the shape of GPT-2 small: blocks that are 768 wide, with 12 heads, and words of 50,257."""

from __future__ import annotations

from typing import Any

import torch.distributed.fsdp

import torch
from torch import Tensor, nn

WIDTH, HEADS, LAYERS = 768, 12, 12
CONTEXT, WORDS = 1024, 50_257

fsdp: Any = torch.distributed.fsdp  # its stubs do not have all


class Block(nn.Module):
    """Attention to earlier words, and a layer for each word by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.alone = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, words: Tensor) -> Tensor:
        """Give new vectors for those of each word."""
        parts = self.attention(self.first(words)).chunk(3, dim=-1)
        heads = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        seen = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        words = words + self.output(seen.transpose(1, 2).flatten(2))
        return words + self.alone(self.second(words))


class GPT2(nn.Module):
    """Scores of the next word, a row for each word of each sequence."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.last = nn.LayerNorm(WIDTH)

    def forward(self, words: Tensor) -> Tensor:
        """Give the scores. Those of all words are by the table of the words, as in GPT-2."""
        vectors = self.words(words) + self.places(torch.arange(words.shape[1]))
        for block in self.blocks:
            vectors = block(vectors)
        return nn.functional.linear(self.last(vectors).flatten(0, 1), self.words.weight)


def shard(network: GPT2, group: Any) -> None:
    """Spread the parameters over the ranks of a group: those of each block by themselves, and the rest."""
    mesh = torch.distributed.DeviceMesh.from_group(group, "cpu")
    for block in network.blocks:
        fsdp.fully_shard(block, mesh=mesh)
    fsdp.fully_shard(network, mesh=mesh)


def batch(rank: int, step: int, sequences: int, length: int) -> tuple[Tensor, Tensor]:
    """Return the words of sequences, the same in each run, and those that follow them."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    words = torch.randint(WORDS, (sequences, length + 1), generator=generator)
    return words[:, :-1], words[:, 1:].flatten()
