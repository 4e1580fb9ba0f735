# SPDX-License-Identifier: Apache-2.0
"""One rank of a training: `PYTHON .../stretto/workers OPTIONS`, with the options as JSON.

Rank 0 prints events for `stretto train`, one JSON object per line.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def _find_stretto() -> None:
    """Make this `stretto` importable, but nothing else in the folder where it is installed."""
    folder = Path(__file__).resolve().parent.parent
    spec = importlib.util.spec_from_file_location(
        "stretto", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} does not contain stretto")
    module = importlib.util.module_from_spec(spec)
    sys.modules["stretto"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    # A program's own folder is first in sys.path. Its modules must not hide others with their names.
    sys.path.pop(0)
    _find_stretto()
    from stretto.workers.program import main

    main(sys.argv[1])
