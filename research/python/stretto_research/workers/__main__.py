# SPDX-License-Identifier: Apache-2.0
"""One rank of a training: `PYTHON .../stretto_research/workers STRETTO OPTIONS`.

STRETTO is the folder of the package `stretto`; the options are JSON.

Rank 0 prints events for `stretto train`, one JSON object per line.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def _make_importable(name: str, folder: Path) -> None:
    """Make a package importable, but nothing else in the folder where it is installed."""
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} does not contain {name}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    # A program's own folder is first in sys.path. Its modules must not hide others with their names.
    sys.path.pop(0)
    _make_importable("stretto", Path(sys.argv[1]))
    _make_importable("stretto_research", Path(__file__).resolve().parent.parent)
    from stretto_research.workers.program import main

    main(sys.argv[2])
