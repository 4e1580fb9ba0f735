# SPDX-License-Identifier: Apache-2.0
"""build_conda.py FOLDER RECIPE: builds a conda package into FOLDER, and tests it as its recipe says.

It uses no channel of the internet. FOLDER is the channel: first, the packages that the recipe needs are
made there, from this Python and from packages that pip installs.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from rattler_build import EnvironmentIsolation, Stage0Recipe, ToolConfiguration
from rattler_build.progress import SimpleProgressCallback

# rattler-build turns pip off by variables, so that no recipe installs packages that it does not name.
PIP = f"env -u PIP_NO_INDEX -u PIP_NO_DEPENDENCIES {sys.executable} -m pip --python $PREFIX/bin/python"
INSTALL = f"{PIP} install --quiet --no-warn-script-location --ignore-installed"


def build(recipe: Stage0Recipe, folder: Path, **options: Any) -> None:
    recipe.run_build(
        output_dir=folder,
        channels=[folder.as_uri()],
        progress_callback=SimpleProgressCallback(),
        **options,
    )


def make(folder: Path, name: str, version: str, script: list[str], needs: list[str]) -> None:
    """Make a package in place of conda's package of this name."""
    content = {
        "package": {"name": name, "version": version},
        "build": {"script": script, "dynamic_linking": {"binary_relocation": False}},
        "requirements": {"host": needs, "run": needs},
    }
    # pip has its settings from there.
    build(Stage0Recipe.from_dict(content), folder, env_isolation=EnvironmentIsolation.NONE)


def main() -> None:
    """Build it."""
    folder = Path(sys.argv[1]).absolute()
    environment = [
        f"{sys.executable} -m venv --without-pip $PREFIX",
        "rm -r $PREFIX/bin/[Aa]ctivate* $PREFIX/lib64",
    ]
    make(folder, "python", platform.python_version(), environment, [])
    make(folder, "pip", "99", [f"{INSTALL} pip"], ["python"])
    # It brings rich along.
    make(folder, "typer", "99", [f"{INSTALL} typer"], ["python"])
    make(folder, "rich", "99", ["true"], ["typer"])
    build(Stage0Recipe.from_file(sys.argv[2]), folder, tool_config=ToolConfiguration(test_strategy="native"))


if __name__ == "__main__":
    main()
