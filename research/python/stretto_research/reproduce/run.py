# SPDX-License-Identifier: Apache-2.0
"""Makes and draws figures, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from stretto.plots.drawing import draw_panels
from stretto.support.console import progress_bar
from stretto_research.reproduce.figure import Bench, Figure, Made


def make_figures(figures: Iterable[Figure], folder: Path, *, quick: bool) -> Iterator[Made]:
    """Yields each figure once it is made and drawn into the folder; `quick` uses fewer sizes and ranks."""
    for figure in figures:
        begin = time.monotonic()
        with progress_bar(figure.name) as progress:
            result = figure.make(Bench(quick=quick, progress=progress))
        file = folder / f"{figure.paper}-{figure.number}.png"
        draw_panels(figure.heading, result.panels, file, columns=result.columns)
        yield Made(figure, result, file, time.monotonic() - begin)
