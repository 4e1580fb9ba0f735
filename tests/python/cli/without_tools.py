# SPDX-License-Identifier: Apache-2.0
"""Runs commands as if the packages of the extra `tools` were missing."""

from __future__ import annotations

import os
import subprocess
import sys

from stretto.support.extras import TOOLS

# Makes packages missing for imports and look-ups of Stretto's own modules. Typer may still load Pydantic.
WITHOUT_TOOLS = f"""
import builtins, importlib.util
missing = {sorted(TOOLS)}
find_spec, import_module = importlib.util.find_spec, builtins.__import__
def import_another(name, names=None, *arguments, **more):
    importer = str((names or {{}}).get("__name__"))
    if name.split(".")[0] in missing and importer.startswith(("stretto.", "stretto_research.")):
        raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
    return import_module(name, names, *arguments, **more)
builtins.__import__ = import_another
importlib.util.find_spec = lambda name, *more: None if name in missing else find_spec(name, *more)
"""


def python(script: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], env=os.environ | settings, capture_output=True, text=True
    )


def without_tools(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python(f"{WITHOUT_TOOLS}\nfrom stretto.__main__ import tool\ntool()", *arguments)
