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


@pytest.mark.parametrize(
    ("world", "chosen"),
    [
        ((1, 4), Network.MPI),
        # Several worlds of the launcher's ranks, or other numbers.
        ((1, 2), Network.SOCKETS),
        ((0, 2), Network.SOCKETS),
        ((2, 4), Network.SOCKETS),
        ((1, 8), Network.SOCKETS),
    ],
)
def test_the_programs_own_world_is_believed(world: tuple[int, int], chosen: Network) -> None:
    assert choose_network(MPIRUN, world) is chosen
    assert choose_network(MPIRUN | {"STRETTO_NETWORK": "mpi"}, world) is Network.MPI
    assert choose_network(TORCHRUN, world) is Network.SOCKETS


def test_what_a_rank_starts_is_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has inherited the launcher's variables, and perhaps an MPI that it may not use."""
    monkeypatch.setattr(network, "mpi_has_begun", lambda: True)
    monkeypatch.setattr(network, "parent_process", lambda: "the rank")
    assert choose_network(MPIRUN) is Network.SOCKETS
    assert choose_network(MPIRUN, (1, 4)) is Network.SOCKETS


def test_the_loopback_is_no_address_for_others() -> None:
    for host in ("localhost", "127.0.0.1", "127.0.1.1", "no.such.host.invalid"):
        assert network.own_address(host) == ""
