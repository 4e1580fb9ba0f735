# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from stretto_research.networks.gradients import NETWORKS, gradients, histogram, message_sizes

# Pipelined paper, Table 2.
TOTALS = {
    "alexnet": 62_378_344,
    "resnet50": 25_636_712,
    "resnet110": 1_747_898,
    "vgg11": 132_863_336,
}


def test_the_networks_are_those_of_the_papers() -> None:
    assert {name: build().parameters for name, build in NETWORKS.items()} == TOTALS


OPERATIONS = {
    "alexnet": 2_270_512_192,
    "resnet50": 8_178_368_512,
    "resnet110": 506_832_128,
    "vgg11": 15_218_180_096,
}


def test_their_floating_point_operations_are_those_of_the_papers() -> None:
    assert {name: build().operations for name, build in NETWORKS.items()} == OPERATIONS


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_come_in_the_backward_pass(name: str) -> None:
    network = NETWORKS[name]()
    order = gradients(network)
    assert [one for one, _ in order] == network.trainable[::-1]
    done = [share for _, share in order]
    assert done == sorted(done)
    assert done[0] >= 1 / 3
    assert done[-1] == 1


def test_what_keras_says_of_resnet50() -> None:
    assert sum(one.parameters for one in NETWORKS["resnet50"]().statistics) == 53_120


@pytest.mark.parametrize("name", NETWORKS)
def test_histograms_add_up(name: str) -> None:
    network = NETWORKS[name]()
    sizes = message_sizes(network)
    bins = histogram(sizes)
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
