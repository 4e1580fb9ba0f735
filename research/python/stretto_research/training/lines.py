# SPDX-License-Identifier: Apache-2.0
"""The specs with which a training is measured, and their labels in the papers."""

from __future__ import annotations

from stretto.spec.checks import check_spec, split_specs
from stretto.spec.labels import STRETTO, label_of
from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError

USUAL = f"{NATIVE},ring,native:segments=1,native:segments=4,{STRETTO}"
"""The lines of the pipelined paper's Fig. 9 (BL(AUTO), BL(RNG), NBL, NBLx4 there) and Stretto's choice."""
_LABELS = {"ring": "RNG"}


def label(spec: str) -> str:
    """Returns the papers' label of a spec; the spec itself if they have none."""
    return _LABELS.get(spec) or label_of(spec)


def parse(text: str) -> list[str]:
    """Parse a list of specs and drop duplicates. Raises StrettoError for a spec that cannot be used."""
    specs = split_specs(text)
    for spec in specs:
        if spec.startswith("native("):
            raise StrettoError(
                f"--specs {spec}: the library's own algorithm is fixed when a job starts, and all specs of a "
                "training are measured in one job; give the spec of Stretto's algorithm"
            )
        check_spec("allreduce", spec)
    return specs
