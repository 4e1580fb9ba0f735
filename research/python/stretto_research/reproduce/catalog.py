# SPDX-License-Identifier: Apache-2.0
"""The catalog of figures that can be reproduced, and the lookup by name."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.support.errors import StrettoError
from stretto_research.reproduce import models, node_aware, pipelined, training, trainings
from stretto_research.reproduce.figure import PAPERS, Figure

FIGURES: list[Figure] = [
    *pipelined.FIGURES,
    *training.FIGURES,
    *trainings.FIGURES,
    *node_aware.FIGURES,
    *models.FIGURES,
]


def find_figures(names: Sequence[str]) -> list[Figure]:
    """Return the named figures: `pipelined/fig4`, `fig4` of every paper, `pipelined` for all of one paper.

    Raises StrettoError for an unknown name.
    """
    found: list[Figure] = []
    for name in names:
        matching = [one for one in FIGURES if name in (one.name, one.number, one.paper)]
        if not matching:
            numbers = ", ".join(
                f"{paper}/{{{','.join(one.number for one in FIGURES if one.paper == paper)}}}"
                for paper in PAPERS
            )
            raise StrettoError(f"{name}: no such figure; there are {numbers}")
        found += [one for one in matching if one not in found]
    return found
