# SPDX-License-Identifier: Apache-2.0
"""Makes figures one after the other, draws each, and prints what became of its claims."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from stretto.plots.drawing import draw_panels
from stretto.reproduce.figure import Bench, Figure, Result
from stretto.reproduce.table import print_claims
from stretto.support.console import progress_bar


def make_figures(figures: Sequence[Figure], folder: Path, *, quick: bool) -> list[tuple[Figure, Result]]:
    """Make the figures and draw them into the folder; `quick` takes fewer sizes and ranks."""
    results: list[tuple[Figure, Result]] = []
    for figure in figures:
        begin = time.monotonic()
        with progress_bar(figure.name) as progress:
            result = figure.make(Bench(quick=quick, progress=progress))
        file = folder / f"{figure.paper}-{figure.number}.png"
        draw_panels(figure.heading, result.panels, file, columns=result.columns)
        results.append((figure, result))
        print_claims(figure, result.claims, file, time.monotonic() - begin)
    return results
