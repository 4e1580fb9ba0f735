# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from stretto_research.networks.architectures import (
    ARCHITECTURES,
    Architecture,
    Dense,
    Residual,
    Shape,
    shape_after,
)
from stretto_research.networks.gradients import NETWORKS
from stretto_research.training import memory
from stretto_research.workers import torch_network


def shapes(architecture: Architecture) -> list[Shape]:
    found = [architecture.image]
    for layer in architecture.layers:
        found.append(shape_after(layer, found[-1]))
    return found


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_images_become_scores(name: str) -> None:
    architecture = ARCHITECTURES[name]()
    assert shapes(architecture)[-1] == (1, 1, architecture.classes)


def test_what_comes_before_the_dense_layers() -> None:
    before = {
        name: next(
            shape
            for shape, layer in zip(shapes(architecture), architecture.layers, strict=False)
            if isinstance(layer, Dense)
        )
        for name, architecture in ((name, build()) for name, build in ARCHITECTURES.items())
    }
    assert before == {
        "alexnet": (1, 1, 6 * 6 * 256),
        "resnet50": (1, 1, 2048),
        "resnet110": (1, 1, 64),
        "vgg11": (1, 1, 7 * 7 * 512),
    }


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_torch_networks_have_the_parameters_of_the_paper(name: str) -> None:
    network = torch_network.build(ARCHITECTURES[name]())
    assert torch_network.parameters_of(network) == NETWORKS[name]().parameters


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_torch_networks_have_the_gradients_that_are_counted(name: str) -> None:
    network = torch_network.build(ARCHITECTURES[name]())
    mine = sorted(one.numel() for one in network.parameters())
    assert mine == sorted(one.parameters for one in NETWORKS[name]().trainable)


def test_branches_that_end_differently() -> None:
    shortcut = Residual(((), (Dense("d", 3),)))
    with pytest.raises(ValueError, match="different shapes"):
        shape_after(shortcut, (1, 1, 2))


def test_a_larger_batch_needs_more_memory() -> None:
    architecture = ARCHITECTURES["resnet50"]()
    one, two = (memory.rank_bytes("resnet50", architecture, batch) for batch in (1, 2))
    assert two - one == 4 * memory.activations(architecture)
    assert one > 4 * 3 * 25_636_712
