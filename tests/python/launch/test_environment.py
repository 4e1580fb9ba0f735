# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from stretto.launch.environment import Launch, find_launch


def test_launchers_are_known_by_their_variables() -> None:
    openmpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    assert find_launch(openmpi) == Launch("openmpi", 1, 4)
    assert find_launch({"PMI_RANK": "0", "PMI_SIZE": "2"}) == Launch("mpich", 0, 2)
    assert find_launch({"RANK": "0", "WORLD_SIZE": "1"}) is None
