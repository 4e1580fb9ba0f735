# SPDX-License-Identifier: Apache-2.0
"""Makes and writes the figures of Matplotlib, which is slow to load: only the first figure loads it.

A figure becomes a file, or a part of a page. On a page, a tip is shown while the pointer is over its place.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.support.extras import require
from stretto.support.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TIP = "tip: "
_TIPPED = re.compile(rf'<g id="{_TIP}([^"]*)">')
# Matplotlib's names of groups are the same in each figure, and a page has many.
_NAMED = re.compile(r'<g id="[\w.]+">')
_PIXELS_PER_INCH = 110


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches."""
    require("a picture", "matplotlib")
    # Without a HOME that it can write to, Matplotlib prints messages about folders that nobody asked for.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib import rcParams  # noqa: PLC0415  see above
    from matplotlib.figure import Figure  # noqa: PLC0415  see above

    # Texts come from files, and a dollar in them is no formula.
    rcParams["text.parse_math"] = False
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Path, dpi: float = 150) -> None:
    """Write a picture in the format of the file's suffix, or as PNG if it has none."""
    content = io.BytesIO()
    with _quietly():
        figure.savefig(content, format=path.suffix.lower().lstrip(".") or "png", dpi=dpi)
    write_atomically(path, content.getvalue())


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Leave out what Matplotlib says of characters that its font lacks, and of lengths without bounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def add_tip(axes: Axes, x: float, y: float, text: str) -> None:
    """Show a text while the pointer is over this point."""
    if math.isfinite(x) and math.isfinite(y):
        axes.scatter([x], [y], s=120, alpha=0, gid=_TIP + text, zorder=9)


def add_field(axes: Axes, corner: tuple[float, float], colour: Any, text: str) -> None:
    """Draw a field of a map, of one unit, and show a text while the pointer is over it."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415  loaded with the rest

    axes.add_patch(
        Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5, gid=_TIP + text)
    )


def add_tips_to_bars(bars: Any, texts: list[str]) -> None:
    """Show a text while the pointer is over each of the bars."""
    for bar, text in zip(bars, texts, strict=True):
        bar.set_gid(_TIP + text)


def svg_text(figure: Figure) -> str:
    """The figure as an element of a page, without its title, which the page has."""
    from matplotlib import rc_context  # noqa: PLC0415  loaded with the figure

    figure.suptitle("")
    content = io.StringIO()
    # Texts stay texts, in a font of the reader's; the identities of shapes are the same in each run.
    with _quietly(), rc_context({"svg.fonttype": "none", "svg.hashsalt": "stretto"}):
        figure.savefig(content, format="svg")
    text = re.sub(r"<metadata>.*?</metadata>", "", content.getvalue(), count=1, flags=re.DOTALL)
    text = _TIPPED.sub(r'<g class="tip"><title>\1</title>', text)
    text = _NAMED.sub("<g>", text)
    box = re.search(r' viewBox="[^"]*"', text)
    assert box is not None
    width = round(_PIXELS_PER_INCH * figure.get_figwidth())
    start = text.index(">", box.end()) + 1
    return f'<svg xmlns="http://www.w3.org/2000/svg"{box[0]} style="width: {width}px">{text[start:]}'
