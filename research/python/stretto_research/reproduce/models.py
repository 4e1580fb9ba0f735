# SPDX-License-Identifier: Apache-2.0
"""Compares the papers' formulas, the schedule walker and the simulation."""

from __future__ import annotations

from collections import defaultdict

from stretto.plots.panels import Axis, Panel, Scale
from stretto.support.units import format_percent
from stretto_research.reproduce.figure import Bench, Figure, Result, judged
from stretto_research.simulate.model_comparison import TOLERATED, all_cases, compare, unexplained

_QUICK_RANKS = (7, 8)
_SHARE = Axis("calls (%)", Scale.LINEAR)
_OFF = Axis("difference from SMPI (%)", Scale.LINEAR)


def _spread(offs: list[float]) -> dict[float, float]:
    """Return ascending differences in per cent, by the share of calls with no larger difference."""
    ordered = sorted(100 * abs(one) for one in offs)
    return {100 * (index + 1) / len(ordered): one for index, one in enumerate(ordered)}


def side_by_side(bench: Bench) -> Result:
    """Compare all algorithms on 7 to 32 ranks."""
    cases = all_cases(ranks=_QUICK_RANKS, shapes=()) if bench.quick else all_cases()
    rows = compare(cases, bench.progress)
    walker: dict[str, list[float]] = defaultdict(list)
    formulas: list[float] = []
    for row in rows:
        walker[row.case.collective].append(row.walker_off)
        if row.formula_off is not None:
            formulas.append(row.formula_off)
    over = [row for row in rows if abs(row.walker_off) > TOLERATED]
    near = sum(abs(row.walker_off) <= 0.05 for row in rows) / len(rows)
    return Result(
        [
            Panel("the walker", {name: _spread(offs) for name, offs in walker.items()}, _SHARE, _OFF),
            Panel("the papers' formulas", {"allreduce": _spread(formulas)}, _SHARE, _OFF),
        ],
        [
            judged(
                "the schedule walker and SMPI differ by at most 20 %, or the reason is known",
                f"{len(rows)} calls, {format_percent(near)} of them within 5 %; {len(over)} over 20 %, "
                f"{len(unexplained(rows))} of them without a reason",
                not unexplained(rows),
            )
        ],
        remark="models.md has the table of all algorithms.",
    )


FIGURES = [Figure("models", "side-by-side", "Three models of one cluster", side_by_side, in_ci=True)]
