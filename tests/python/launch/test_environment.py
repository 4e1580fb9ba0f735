# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from stretto.launch.environment import Launch, find_launch, read_choice
from stretto.support.errors import StrettoError


def test_launchers_are_known_by_their_variables() -> None:
    openmpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    assert find_launch(openmpi) == Launch("openmpi", 1, 4)
    assert find_launch({"PMI_RANK": "0", "PMI_SIZE": "2"}) == Launch("mpich", 0, 2)
    assert find_launch({"RANK": "0", "WORLD_SIZE": "1"}) is None


def test_a_choice_is_one_of_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    choices = ("", "gloo")
    assert read_choice("NAME", choices, {}) == ""
    assert read_choice("NAME", choices, {"NAME": "gloo"}) == "gloo"
    assert capsys.readouterr().err == ""
    assert read_choice("NAME", choices, {"NAME": "nccl"}) == ""
    assert capsys.readouterr().err == 'stretto: NAME: must be gloo, not "nccl"; it is ignored\n'
    with pytest.raises(StrettoError, match="must be gloo"):
        read_choice("NAME", choices, {"NAME": "nccl", "STRETTO_STRICT": "1"})
