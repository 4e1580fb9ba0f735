# SPDX-License-Identifier: Apache-2.0
"""The page of all specs: what the registry has, collective by collective."""

from __future__ import annotations

from collections.abc import Iterator

from stretto import _core
from stretto.show.algorithms import order_text, pattern_text, usual_text

_INTRODUCTION = """# Specs

Each way to carry out a collective, as `STRETTO_ALLREDUCE` and its kin, `--spec`, tuning tables and the
C interface spell it. [How a spec is written](algorithms.md#specs), with segments and windows;
[what each costs, and when it wins](algorithms.md).

`native` is the MPI library's own way, for every collective. Capitals stand for another algorithm, of the
collective that they name, or for a number."""


def spec_page() -> str:
    """As Markdown."""
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
