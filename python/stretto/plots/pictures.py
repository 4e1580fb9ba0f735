# SPDX-License-Identifier: Apache-2.0
"""Makes and writes the figures of Matplotlib, which is slow to load: only the first figure loads it."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.support.extras import require
from stretto.support.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches."""
    require("a picture", "matplotlib")
    # Without a HOME that it can write to, Matplotlib prints messages about folders that nobody asked for.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure  # noqa: PLC0415  see above

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Path, dpi: float = 150) -> None:
    """Write a picture in the format of the file's suffix, or as PNG if it has none."""
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.lower().lstrip(".") or "png", dpi=dpi)
    write_atomically(path, content.getvalue())
