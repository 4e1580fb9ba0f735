# SPDX-License-Identifier: Apache-2.0
"""Every recipe has the name, version, license and requirements of pyproject.toml."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
CONTENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONTENT["project"]
NAME, VERSION, LICENSE = PROJECT["name"], PROJECT["version"], PROJECT["license"]
[EASYCONFIG] = (PACKAGING / "easybuild").glob("*.eb")


def requirement(text: str) -> tuple[str, str]:
    """The name and the least version of `name>=version`."""
    found = re.fullmatch(r"([\w.-]+) ?>= ?([\d.]+)", text)
    assert found, f"{text} is no name with a least version"
    return found[1], found[2]


def numbers(version: str) -> list[int]:
    return [int(one) for one in version.split(".")]


NEEDED = dict(map(requirement, PROJECT["dependencies"]))
TOOLS = dict(map(requirement, PROJECT["optional-dependencies"]["tools"]))
TO_BUILD = dict(map(requirement, CONTENT["build-system"]["requires"]))
[(PYTHON_TEXT, PYTHON)] = [requirement(f"python{PROJECT['requires-python']}")]
CMAKE = re.findall(
    r"cmake_minimum_required\(VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
)[0]


def read(*parts: str) -> str:
    return PACKAGING.joinpath(*parts).read_text(encoding="utf-8")


def fields(text: str) -> list[dict[str, str]]:
    """The paragraphs of a Debian control file, with continued lines joined."""
    return [
        {
            name: " ".join(value.split())
            for name, value in re.findall(r"^(\S+):((?:.*)(?:\n[ \t].*)*)", part, re.MULTILINE)
        }
        for part in re.split(r"\n{2,}", text)
    ]


def test_debian() -> None:
    control, package, development = fields(read("debian", "control"))
    assert (control["Source"], package["Package"], development["Package"]) == (NAME, NAME, f"lib{NAME}-dev")
    built_by = [one.strip() for one in control["Build-Depends"].split(",") if one.strip()]
    assert f"cmake (>= {CMAKE})" in built_by
    # scripts/setup installs the same packages for the build.
    setup = (ROOT / "scripts" / "setup").read_text(encoding="utf-8")
    libraries = {one for one in built_by if one.startswith(("lib", "nlohmann"))}
    assert libraries == {"libhwy-dev", "libmpich-dev", "libopenmpi-dev", "nlohmann-json3-dev"}
    assert all(one in setup for one in libraries)
    first = read("debian", "changelog").splitlines()[0]
    assert first.startswith(f"{NAME} ({VERSION}) ")
    about = fields(read("debian", "copyright"))
    assert {one["License"].split()[0] for one in about if "License" in one} == {LICENSE}


def test_debian_says_why_there_are_no_tools() -> None:
    said = " ".join(read("debian", "stretto.README.Debian").split())
    [(name, version)] = re.findall(r"\((\w+) ([\d.]+)\)", said)
    assert numbers(NEEDED[name]) == numbers(version)


def calls_of(text: str) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """The calls in the class of a Spack package, with their literal arguments."""
    [package] = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    assert package.name == NAME.capitalize()
    calls = [
        one.value for one in package.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
    ]
    return [
        (
            ast.unparse(one.func),
            [ast.literal_eval(argument) for argument in one.args],
            {str(word.arg): ast.literal_eval(word.value) for word in one.keywords},
        )
        for one in calls
    ]


def test_spack() -> None:
    calls = calls_of(read("spack", "package.py"))
    assert [words for name, words, _ in calls if name == "version"] == [[VERSION]]
    assert [words for name, words, _ in calls if name == "license"] == [[LICENSE]]
    needed = {words[0]: settings for name, words, settings in calls if name == "depends_on"}
    assert needed[f"python@{PYTHON}:"]["type"] == ("build", "run")
    assert f"cmake@{CMAKE}:" in needed
    pythons = {one.removeprefix("py-"): settings["type"] for one, settings in needed.items() if "py-" in one}
    expected = {f"{name}@{version}:": "run" for name, version in (NEEDED | TOOLS).items()}
    expected |= {f"{name}@{version}:": "build" for name, version in TO_BUILD.items()}
    assert pythons == expected
    optional = {one for one, settings in needed.items() if settings.get("when") == "+tools"}
    assert optional == {f"py-{name}@{version}:" for name, version in TOOLS.items()}
    assert f"{NAME}-{VERSION}.tar.gz" in read("spack", "package.py")
    compile(read("spack", "package.py"), "package.py", "exec")


def test_conda() -> None:
    recipe = yaml.safe_load(read("conda", "recipe.yaml"))
    assert recipe["context"] == {"name": NAME, "version": VERSION}
    about = recipe["about"]
    assert (about["license"], about["summary"]) == (LICENSE, PROJECT["description"])
    pin, *needed = recipe["requirements"]["run"]
    assert 'pin_compatible("python", ' in pin
    run = dict(map(requirement, needed))
    # The wheel's, which scripts/wheel builds.
    wheel = (ROOT / "scripts" / "wheel").read_text(encoding="utf-8")
    assert f"glibc={run.pop('__glibc')}\n" in wheel
    assert run == NEEDED
    tools = dict(map(requirement, recipe["requirements"]["run_constraints"]))
    tools["matplotlib"] = tools.pop("matplotlib-base")
    assert tools == TOOLS
    assert f"python >={PYTHON}" in recipe["requirements"]["host"]


def test_easybuild() -> None:
    values = {
        ast.unparse(one.targets[0]): one.value
        for one in ast.parse(EASYCONFIG.read_text(encoding="utf-8")).body
        if isinstance(one, ast.Assign)
    }
    literals = {name: ast.literal_eval(node) for name, node in values.items() if name != "exts_list"}
    assert (literals["name"].lower(), literals["version"]) == (NAME, VERSION)
    toolchain = literals["toolchain"]
    assert EASYCONFIG.name == f"Stretto-{VERSION}-{toolchain['name']}-{toolchain['version']}.eb"
    assert literals["description"] == PROJECT["description"]
    extensions = values["exts_list"]
    assert isinstance(extensions, ast.List)
    rows = [one.elts for one in extensions.elts if isinstance(one, ast.Tuple)]
    given = dict(literals["dependencies"] + literals["builddependencies"])
    given |= {ast.literal_eval(row[0]): ast.unparse(row[1]).strip("'") for row in rows}
    assert given.pop(NAME) == "version"
    # These come with other packages. EasyBuild's robot looks up EasyBuild's own packages (test_linters.py).
    brought = {"jinja2": "Python-bundle-PyPI", "rich": "Python-bundle-PyPI"}
    brought |= {"numpy": "SciPy-bundle", "scipy": "SciPy-bundle"}
    for name, version in {**NEEDED, **TOOLS, **TO_BUILD, "Python": PYTHON, "CMake": CMAKE}.items():
        found = given[brought.get(name, name)]
        assert brought.get(name, "").find("bundle") >= 0 or numbers(found) >= numbers(version), name
    bundled = {"Python-bundle-PyPI", "SciPy-bundle", "Ninja", "Highway", "nlohmann_json", "PDM"}
    assert set(given) - bundled <= {*NEEDED, *TOOLS, *TO_BUILD, "Python", "CMake"}


@pytest.mark.parametrize("file", ["Dockerfile", "stretto.def"])
def test_containers(file: str) -> None:
    text = read("container", file)
    assert f"{NAME}=={VERSION}" in text
    for label, value in {"title": NAME, "version": VERSION, "licenses": LICENSE}.items():
        assert re.search(
            rf'org\.opencontainers\.image\.{label}[ =]"?{re.escape(value)}"?( \\)?$', text, re.MULTILINE
        )
    # The Python of this Debian is new enough, so that no other one is installed.
    assert "debian:bookworm-slim" in text
    assert numbers(PYTHON) <= [3, 11]


def test_module_file() -> None:
    assert re.findall(r"^set version (\S+)$", read("modulefiles", "stretto"), re.MULTILINE) == [VERSION]


def test_every_recipe_is_compared() -> None:
    folders = {one.name for one in PACKAGING.iterdir() if one.is_dir()}
    assert folders == {"conda", "container", "debian", "easybuild", "modulefiles", "spack"}


@pytest.mark.parametrize("folder", ["conda", "container", "debian", "easybuild", "modulefiles", "spack"])
def test_the_readme_tells_of_it(folder: str) -> None:
    assert f"`{folder}" in read("README.md")
