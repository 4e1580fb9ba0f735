# SPDX-License-Identifier: Apache-2.0
"""Makes the page of all specs from the registry, by collective."""

from __future__ import annotations

from collections.abc import Iterator

from stretto import _core
from stretto.show.algorithms import order_text, pattern_text, usual_text

_INTRODUCTION = """# Specs

All specs, as `STRETTO_ALLREDUCE` and its kin, `--spec`, tuning tables and the C interface spell them.

- [How a spec is written](algorithms.md#specs), with segments and windows.
- [What each costs, and when it wins](algorithms.md).

`native` is the MPI default, for every collective. Capitals stand for a number, or for another algorithm of
the collective that they name."""


def spec_page() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    for collective in _core.collectives():
        reduces = _core.is_reduction(collective)
        titles = ["spec", "what it does", "unless given", *(["keeps rank order"] if reduces else [])]
        yield f"\n## {collective}\n"
        yield f"| {' | '.join(titles)} |"
        yield f"|{' --- |' * len(titles)}"
        for algorithm in _core.algorithms():
            if algorithm.collective == collective:
                usual = usual_text(algorithm)
                cells = [f"`{pattern_text(algorithm)}`", algorithm.description, f"`{usual}`" if usual else ""]
                cells += [order_text(algorithm)] if reduces else []
                yield f"| {' | '.join(cells)} |"
    yield ""
