# SPDX-License-Identifier: Apache-2.0
"""The packages that `pip install stretto` leaves out: those of the extra `tools` (pyproject.toml)."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from stretto.support.errors import StrettoError

TOOLS = {
    "jinja2": "Jinja2",
    "matplotlib": "Matplotlib",
    "numpy": "NumPy",
    "pydantic": "Pydantic",
    "scipy": "SciPy",
}
"""The names of the packages, by those of their modules."""


def missing_tools(modules: Iterable[str] = TOOLS) -> list[str]:
    """The packages of these modules that are missing. The others are not loaded."""
    return [TOOLS[one] for one in modules if find_spec(one) is None]


def require(what: str, *modules: str) -> None:
    """Raise StrettoError if a package is missing that `what` needs. Call it before a measurement."""
    missing = missing_tools(modules)
    if missing:
        raise StrettoError(f"{what} needs {' and '.join(missing)}: pip install 'stretto[tools]'")
