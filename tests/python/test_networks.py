# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from stretto.networks import NETWORKS, histogram, message_sizes, resnet50

# Pipelined paper, Table 2.
TOTALS = {
    "alexnet": 62_378_344,
    "resnet50": 25_636_712,
    "resnet110": 1_747_898,
    "vgg11": 132_863_336,
}


def test_the_networks_are_those_of_the_papers() -> None:
    assert {name: build().parameters for name, build in NETWORKS.items()} == TOTALS


def test_what_keras_says_of_resnet50() -> None:
    assert sum(one.parameters for one in resnet50().statistics) == 53_120


@pytest.mark.parametrize("name", NETWORKS)
def test_histograms_add_up(name: str) -> None:
    network = NETWORKS[name]()
    sizes = message_sizes(network)
    bins = histogram(network)
    assert sum(sizes) == 4 * sum(one.parameters for one in network.trainable)
    assert sum(one.messages for one in bins) == len(sizes)
    for one in bins:
        assert one.begin & (one.begin - 1) == 0
        assert one.messages == sum(one.begin <= size < 2 * one.begin for size in sizes)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_tensor_has_a_name_of_its_own(name: str) -> None:
    network = NETWORKS[name]()
    names = [one.name for one in (*network.trainable, *network.statistics)]
    assert len(names) == len(set(names))
