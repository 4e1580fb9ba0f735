# SPDX-License-Identifier: Apache-2.0
"""Reads the symbols of static libraries, the lowest first, and refuses a link upward.

Arguments: `nm`, and the libraries. No library may use a symbol that only a later one defines.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def symbols(nm: str, library: str, *options: str) -> set[str]:
    """The names that `nm` prints with these options."""
    listed = subprocess.run(
        [nm, "--extern-only", "--format=just-symbols", *options, library],
        check=True,
        capture_output=True,
        text=True,
    )
    return {line for line in listed.stdout.split("\n") if line and not line.endswith(":")}


def main(nm: str, *libraries: str) -> int:
    """Print a line for each link upward. Return how many there are."""
    defined = {library: symbols(nm, library, "--defined-only") for library in libraries}
    assert all(defined.values()), "a library without symbols"
    wrong = 0
    for level, library in enumerate(libraries):
        below = set().union(*(defined[one] for one in libraries[: level + 1]))
        needed = symbols(nm, library, "--undefined-only") - below
        for higher in libraries[level + 1 :]:
            for symbol in sorted(needed & defined[higher]):
                wrong += 1
                print(f"{Path(library).name} uses {symbol} of {Path(higher).name}")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
