# SPDX-License-Identifier: Apache-2.0
"""Prints which recipes were proven, and one failure of each that was not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stretto.show.proof import Failure, Scope
from stretto.spec.recipes import Recipe
from stretto.spec.topologies import as_option, parse_topology


def print_verdicts(recipes: Iterable[Recipe], scope: Scope, failures: Sequence[Failure]) -> None:
    """Print a line for each recipe, and a second one for each that is wrong."""
    for recipe in recipes:
        wrong = [failure for failure in failures if failure.recipe == recipe]
        if wrong:
            count = len(scope.topologies)
            print(f"{recipe}: WRONG on {len(wrong)} of {count} topologies;\n  {_simplest_text(wrong)}")
        else:
            print(f"{recipe}: proven {scope.text}")


def _simplest_text(failures: Sequence[Failure]) -> str:
    """The failure with the fewest ranks, as options for `stretto show`."""
    first = min(failures, key=lambda failure: parse_topology(failure.topology).ranks)
    root = f" --root {first.root}" if first.root else ""
    return f"{as_option(first.topology)}{root}: {first.error}"
