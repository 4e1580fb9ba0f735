# SPDX-License-Identifier: Apache-2.0
"""Which network carries the messages of a process."""

from __future__ import annotations

import pytest

from stretto.support.errors import StrettoError
from stretto.torch import network
from stretto.torch.network import Network, choose_network

MPIRUN = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4"}


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [
        ({}, Network.SOCKETS),
        (TORCHRUN, Network.SOCKETS),
        (MPIRUN, Network.MPI),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, Network.MPI),
        # mpirun has started torchrun on each node.
        (MPIRUN | TORCHRUN, Network.SOCKETS),
        (MPIRUN | TORCHRUN | {"STRETTO_NETWORK": "mpi"}, Network.MPI),
        (MPIRUN | {"STRETTO_NETWORK": "sockets"}, Network.SOCKETS),
        (MPIRUN | {"STRETTO_NETWORK": "auto"}, Network.MPI),
        (TORCHRUN | {"STRETTO_NETWORK": ""}, Network.SOCKETS),
    ],
)
def test_the_launcher_chooses(environment: dict[str, str], chosen: Network) -> None:
    assert choose_network(environment) is chosen


def test_an_mpi_that_has_begun_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "mpi_has_begun", lambda: True)
    assert choose_network(MPIRUN | TORCHRUN) is Network.MPI
    # Alone, MPI knows no other ranks.
    assert choose_network(TORCHRUN) is Network.SOCKETS


def test_a_wrong_value_is_one_line_of_rank_0(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"STRETTO_NETWORK": "ucx"}
    assert choose_network(TORCHRUN | wrong) is Network.SOCKETS
    assert capsys.readouterr().err == ""
    assert choose_network(TORCHRUN | wrong | {"RANK": "0"}) is Network.SOCKETS
    line = 'stretto: STRETTO_NETWORK: must be auto, mpi or sockets, not "ucx"; taken as auto\n'
    assert capsys.readouterr().err == line
    with pytest.raises(StrettoError, match=r"must be auto, mpi or sockets.*STRETTO_STRICT"):
        choose_network(TORCHRUN | wrong | {"STRETTO_STRICT": "1"})
