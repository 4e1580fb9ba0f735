# SPDX-License-Identifier: Apache-2.0
"""The ways to carry out allreduce that a training is measured with, and what the papers call them."""

from __future__ import annotations

from stretto.launch.run import check_spec
from stretto.study.specs import AUTO, STRETTO, label_of
from stretto.support.errors import StrettoError
from stretto.support.units import split_list

USUAL = f"{AUTO},ring,native:segments=1,native:segments=4,{STRETTO}"
"""Pipelined paper, Fig. 9: BL(AUTO), BL(RNG), NBL and NBLx4; and Stretto's own choice."""
_LABELS = {"ring": "RNG"}


def label(spec: str) -> str:
    """As the papers have it, where they have it; else the spec."""
    return _LABELS.get(spec) or label_of(spec)


def parse(text: str) -> list[str]:
    """Specs, each once."""
    specs = list(dict.fromkeys(one.strip() for one in split_list(text)))
    for spec in specs:
        if spec.startswith("native("):
            raise StrettoError(
                f"--specs {spec}: a library is told of its own algorithms when a job is started, and all "
                "lines of a training are measured in one job; take the spec of Stretto's algorithm"
            )
        check_spec("allreduce", spec)
    return specs
