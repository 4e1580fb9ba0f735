# SPDX-License-Identifier: Apache-2.0
"""The ways to carry out allreduce that a training is measured with, and what the papers call them."""

from __future__ import annotations

from stretto.spec.checks import check_spec, split_specs
from stretto.spec.labels import STRETTO, label_of
from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError

USUAL = f"{NATIVE},ring,native:segments=1,native:segments=4,{STRETTO}"
"""The lines of the pipelined paper's Fig. 9 (BL(AUTO), BL(RNG), NBL, NBLx4 there) and Stretto's choice."""
_LABELS = {"ring": "RNG"}


def label(spec: str) -> str:
    """As the papers have it, where they have it; else the spec."""
    return _LABELS.get(spec) or label_of(spec)


def parse(text: str) -> list[str]:
    """Specs, each once."""
    specs = split_specs(text)
    for spec in specs:
        if spec.startswith("native("):
            raise StrettoError(
                f"--specs {spec}: a library is told of its own algorithms when a job is started, and all "
                "lines of a training are measured in one job; take the spec of Stretto's algorithm"
            )
        check_spec("allreduce", spec)
    return specs
