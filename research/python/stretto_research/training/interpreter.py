# SPDX-License-Identifier: Apache-2.0
"""Finds the Python interpreter of the workers, and checks that it has the framework."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from stretto.support.errors import StrettoError
from stretto_research.workers.packages import PACKAGES, missing_complaint


def find_python(given: str | None) -> str:
    """Returns the path of the given interpreter, or of this one. Raises StrettoError if there is none."""
    if given is None:
        return sys.executable
    found = shutil.which(given)
    if found is None:
        raise StrettoError(f"--python {given}: there is no such program")
    # The link is not resolved, since Python finds a virtual environment by the location of the link.
    return str(Path(found).absolute())


def check_packages(python: str, framework: str) -> None:
    """Refuse an interpreter that lacks a package of the framework.

    This is checked before ranks are started, since a launcher would print many lines.
    """
    names = PACKAGES[framework]
    # Workers also do not import from the current folder.
    code = (
        "import sys; sys.path[:] = filter(None, sys.path); from importlib.util import find_spec; "
        f"print(*[name for name in {names} if find_spec(name) is None])"
    )
    try:
        asked = subprocess.run([python, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise StrettoError(f"--python {python} could not be started: {error.strerror}") from None
    if asked.returncode != 0:
        said = " ".join(asked.stderr.split())[-300:]
        raise StrettoError(
            f"--python {python} does not work as an interpreter: {said or 'it printed nothing'}"
        )
    if missing := asked.stdout.split():
        raise StrettoError(missing_complaint(", ".join(missing), framework, python))
