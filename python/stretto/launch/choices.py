# SPDX-License-Identifier: Apache-2.0
"""Reads the environment variables about the choice of specs as jobs do (docs/choice.md)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Online(Enum):
    """How a job uses the decisions about its network, and the times of its calls."""

    GUARD = ""
    FREEZE = "freeze"
    OFF = "0"

    @property
    def setting(self) -> str:
        """The variable with its value."""
        return f"STRETTO_ONLINE={self.value}" if self.value else "STRETTO_ONLINE is not set"

    @property
    def meaning(self) -> str:
        """What the job does, in words."""
        return _MEANINGS[self]

    @property
    def uses_decisions(self) -> bool:
        """Whether the job uses what earlier jobs have decided."""
        return self is not Online.OFF

    @property
    def measures(self) -> bool:
        """Whether the job measures its network and compares specs by its own calls."""
        return self is Online.GUARD


_MEANINGS = {
    Online.GUARD: (
        "decisions of earlier jobs on the network; otherwise the best spec by its model, if the first calls "
        "show that it is faster than the MPI default"
    ),
    Online.FREEZE: "decisions of earlier jobs on the network; the job measures nothing",
    Online.OFF: "the job ignores the findings of earlier jobs, and measures nothing",
}


def online(environment: Mapping[str, str]) -> Online:
    """The value of STRETTO_ONLINE. Jobs report an unknown value, and ignore it."""
    value = environment.get("STRETTO_ONLINE", "")
    return next((one for one in Online if one.value == value), Online.GUARD)


def why_nothing_is_learnt(environment: Mapping[str, str]) -> str:
    """The variable that keeps jobs from using what they find out about networks; empty if none does."""
    for name in ("STRETTO_REPRODUCIBLE", "STRETTO_CHECK"):
        if environment.get(name) == "1":
            return f"{name}=1"
    return ""


def variable_of(collective: str) -> str:
    """The variable that forces a spec."""
    return f"STRETTO_{collective.upper()}"


def forced_spec(collective: str, environment: Mapping[str, str]) -> str:
    """The spec that a variable forces; empty if none does."""
    value = environment.get(variable_of(collective), "")
    return "" if value == "auto" else value
