# SPDX-License-Identifier: Apache-2.0
"""`stretto algorithms`, `stretto verify` and `stretto show`: what is known without running anything."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.progress import track
from rich.table import Table

from stretto import _core
from stretto.drawing import draw_file, draw_text, text_legend
from stretto.errors import StrettoError
from stretto.timeline import make_timeline
from stretto.units import parse_ranks

_FORMATS = (".svg", ".png", ".pdf")
_ORDER_RANKS = range(1, 65)


def algorithms() -> None:
    """List the algorithms."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for title in ("collective", "algorithm", "what it does", "keeps rank order"):
        table.add_column(title)
    for algorithm in _core.algorithms():
        table.add_row(algorithm.collective, algorithm.name, algorithm.description, _order_text(algorithm))
    Console().print(table)


def _order_text(algorithm: _core.Algorithm) -> str:
    keeping = [ranks for ranks in _ORDER_RANKS if algorithm.keeps_order(ranks)]
    if keeping == list(_ORDER_RANKS):
        return "yes"
    if keeping == [ranks for ranks in _ORDER_RANKS if ranks & (ranks - 1) == 0]:
        return "for powers of two"
    if keeping == list(range(1, len(keeping) + 1)):
        return f"up to {len(keeping)} ranks" if len(keeping) > 2 else "no"
    return f"for some of 1..{_ORDER_RANKS[-1]} ranks"


def _find(name: str) -> _core.Algorithm:
    known = _core.algorithms()
    for algorithm in known:
        if algorithm.name == name:
            return algorithm
    raise StrettoError(
        f"there is no algorithm {name!r}; there are {', '.join(other.name for other in known)}"
    )


def _prove(task: tuple[str, str, int]) -> str:
    """One line that says what is wrong; empty when the proof holds."""
    collective, name, ranks = task
    report = _core.verify(collective, name, ranks)
    return "" if report.ok else report.error


def verify(
    name: Annotated[
        str | None, typer.Argument(metavar="[ALGORITHM]", help="Which one; all unless given.")
    ] = None,
    ranks: Annotated[str, typer.Option(help="Numbers of ranks: 8 or 1..64")] = "1..64",
) -> None:
    """Prove that algorithms are correct, by executing the schedules of all ranks symbolically."""
    numbers = parse_ranks(ranks)
    chosen = [_find(name)] if name is not None else _core.algorithms()
    # The largest take longest: begun last they would run alone.
    tasks = [(one.collective, one.name, count) for count in reversed(numbers) for one in chosen]
    console = Console(stderr=True)
    with ProcessPoolExecutor(min(len(tasks), len(os.sched_getaffinity(0)))) as pool:
        proofs = track(
            pool.map(_prove, tasks),
            description="proving",
            total=len(tasks),
            console=console,
            transient=True,
        )
        errors = {task: error for task, error in zip(tasks, proofs, strict=True) if error}
    for one in chosen:
        wrong = {task[2]: error for task, error in errors.items() if task[:2] == (one.collective, one.name)}
        if wrong:
            first = min(wrong)
            print(f"{one.collective} {one.name}: WRONG for {len(wrong)} of {len(numbers)} numbers of ranks;")
            print(f"  {first} ranks: {wrong[first]}")
        else:
            print(f"{one.collective} {one.name}: proven for {ranks} ranks")
    if errors:
        raise typer.Exit(1)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show(
    name: Annotated[str, typer.Argument(metavar="ALGORITHM", help="Which one, e.g. ring.")],
    ranks: Annotated[int, typer.Option(min=1, help="Number of ranks.")] = 4,
    rank_order: Annotated[
        bool, typer.Option("--rank-order", help="Show on which side of the operator what arrives stands.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw into this .svg, .png or .pdf file.")
    ] = None,
) -> None:
    """Draw the schedule of an algorithm as a space-time diagram."""
    algorithm = _find(name)
    if output is not None and output.suffix.lower() not in _FORMATS:
        raise StrettoError(f"{output}: expected a name that ends in {', '.join(_FORMATS)}")
    schedules = [_core.build(algorithm.collective, name, ranks, rank) for rank in range(ranks)]
    timeline = make_timeline(schedules)
    counts = [_count(ranks, "rank"), _count(timeline.blocks, "block"), _count(timeline.steps, "step")]
    title = f"{algorithm.collective} {name}, {', '.join(counts)}"
    if rank_order:
        title += f", {'keeps' if algorithm.keeps_order(ranks) else 'does not keep'} rank order"
    if output is not None:
        try:
            draw_file(timeline, title, output, rank_order)
        except OSError as error:
            raise StrettoError(f"{output} could not be written: {error.strerror}") from None
        print(f"{output}: {title}")
        return
    console = Console()
    table = draw_text(timeline, rank_order)
    needed = Measurement.get(console, console.options.update(max_width=10000), table).maximum
    too_wide = console.is_terminal and needed > console.width
    console.print(title, style="bold", highlight=False, markup=False, soft_wrap=True)
    console.width = max(console.width, needed)
    console.print(table, soft_wrap=True)
    console.print(text_legend(rank_order), style="dim", highlight=False, markup=False, soft_wrap=True)
    if too_wide:
        console.print(f"too wide for this terminal: draw it into a file with -o {name}.svg", highlight=False)
