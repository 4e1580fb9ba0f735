# SPDX-License-Identifier: Apache-2.0
"""The Debian packages are built, checked, installed, used and purged, as root on Debian."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINKING = ROOT / "tests" / "linking"
SOURCES = [LINKING / "main.c", LINKING / "solve.c"]
NAMES = ["stretto", "libstretto-dev"]
SERVED = "1 collective on rank 0, 1 by Stretto and 0 by"
LAUNCH = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"],
    "mpich": ["mpirun.mpich", "-np", "2"],
}

# The build takes minutes if the cache of objects is empty.
pytestmark = [pytest.mark.packages, pytest.mark.timeout(1500)]
each_mpi = pytest.mark.parametrize("abi", list(LAUNCH))


def output_of(words: Sequence[str | Path], **settings: str) -> str:
    """Runs a program that must succeed, without the environment's Stretto. Returns its output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
    clean |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "STRETTO_FABRIC": "none", "STRETTO_TABLE": "none"}
    ran = subprocess.run(
        list(map(str, words)),
        env=clean | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1400,
    )
    assert ran.returncode == 0, f"{words}: {ran.returncode}\n{ran.stdout[-4000:]}"
    return ran.stdout


def is_installed(name: str) -> bool:
    asked = subprocess.run(["dpkg-query", "-W", name], capture_output=True)
    return asked.returncode == 0


def purge() -> None:
    output_of(["dpkg", "--purge", *reversed(NAMES)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that has the packages."""
    assert shutil.which("dh"), "there is no debhelper: apt-get install dpkg-dev debhelper help2man"
    made = tmp_path_factory.mktemp("debian")
    before = sorted(ROOT.iterdir())
    # Optimization and symbols for debuggers are not tested here, and would take most of the time.
    settings = {"DEB_BUILD_OPTIONS": "noautodbgsym", "DEB_CXXFLAGS_APPEND": "-g0 -O1"}
    output_of([ROOT / "packaging" / "debian" / "build", made], **settings)
    assert sorted(ROOT.iterdir()) == before
    return made


@pytest.fixture(scope="module")
def packages(folder: Path) -> list[Path]:
    """The files to install."""
    found = [next(folder.glob(f"{name}_*.deb")) for name in NAMES]
    assert sorted(folder.glob("*.deb")) == sorted(found)
    return found


@pytest.fixture(scope="module")
def files(packages: list[Path]) -> Iterator[list[Path]]:
    """The files of the installed packages."""
    assert os.geteuid() == 0, "packages are installed by root only"
    assert not any(map(is_installed, NAMES)), "a Stretto of Debian is installed here; purge it first"
    output_of(["dpkg", "--install", *packages])
    try:
        listed = output_of(["dpkg", "--listfiles", *NAMES]).splitlines()
        yield [Path(line) for line in listed if "stretto" in line.lower()]
    finally:
        purge()


def test_lintian_has_no_complaints(folder: Path, packages: list[Path]) -> None:
    assert packages
    [changes] = folder.glob("*.changes")
    options = [
        "--allow-root",
        "--fail-on",
        "error,warning",
        "--suppress-tags",
        "bad-distribution-in-changes-file",
    ]
    output_of(["lintian", *options, changes])


def test_what_is_in_it(files: list[Path]) -> None:
    names = {file.name for file in files if not file.is_dir()}
    assert {"stretto", "libstretto.so", "stretto.1.gz"} <= names
    assert {"stretto.h", "group.h", "stretto.pc", "StrettoConfig.cmake"} <= names
    # It has no Python files, and no measuring program, which only Python uses.
    assert [name for name in names if name.endswith(".py") or "bench" in name] == []
    for file in files:
        if file.suffix == ".so":
            needed = output_of(["readelf", "-d", file])
            assert "libmpi" not in needed
            assert "RUNPATH" not in needed


@each_mpi
@pytest.mark.usefixtures("files")
def test_programs_run_with_it(abi: str, tmp_path: Path) -> None:
    program = tmp_path / "solve"
    output_of([f"mpicc.{abi}", *SOURCES, "-o", program])
    command = ["stretto", "exec", "--spec", "ring", "--summary", str(program)]
    assert SERVED in output_of([*LAUNCH[abi], *command], HOME=str(tmp_path))


@each_mpi
@pytest.mark.usefixtures("files")
def test_pkg_config_finds_it(abi: str, tmp_path: Path) -> None:
    flags = output_of(["pkg-config", "--cflags", "--libs", "stretto"]).split()
    program = tmp_path / "solve"
    output_of([f"mpicc.{abi}", "-include", "stretto/stretto.h", *SOURCES, *flags, "-o", program])
    settings = {"STRETTO_ALLREDUCE": "ring", "STRETTO_SUMMARY": "1", "HOME": str(tmp_path)}
    assert SERVED in output_of([*LAUNCH[abi], program], **settings)


@each_mpi
@pytest.mark.usefixtures("files")
def test_cmake_finds_it(abi: str, tmp_path: Path) -> None:
    output_of(["cmake", "-S", LINKING, "-B", tmp_path, f"-DMPI_C_COMPILER=mpicc.{abi}"])
    output_of(["cmake", "--build", tmp_path, "--target", "mpi_first"])
    settings = {"STRETTO_ALLREDUCE": "ring", "STRETTO_SUMMARY": "1", "HOME": str(tmp_path)}
    assert SERVED in output_of([*LAUNCH[abi], tmp_path / "mpi_first"], **settings)


@pytest.mark.usefixtures("files")
def test_it_says_who_has_the_other_commands() -> None:
    ran = subprocess.run(["/usr/bin/stretto", "doctor"], capture_output=True, text=True)
    assert ran.returncode == 127
    assert ran.stderr.startswith("stretto: /usr/bin/stretto-tool cannot be started")
    assert "Stretto's wheel has it" in ran.stderr


def test_the_manual_page_has_the_options(files: list[Path]) -> None:
    [page] = [file for file in files if file.name == "stretto.1.gz"]
    text = subprocess.run(["zcat", page], capture_output=True, check=True).stdout
    shown = subprocess.run(["groff", "-man", "-Tascii", "-P-c"], input=text, capture_output=True, check=True)
    for option in ("--spec", "--stats", "--strict", "--summary", "--set"):
        assert option in re.sub(".\b", "", shown.stdout.decode())  # bold letters are struck twice


def test_the_version_is_that_of_the_sources(packages: list[Path]) -> None:
    for package in packages:
        version = output_of(["dpkg-deb", "--field", package, "Version"]).strip()
        assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_purge_leaves_nothing(files: list[Path]) -> None:
    assert all(map(os.path.lexists, files))
    purge()
    assert [file for file in files if os.path.lexists(file)] == []
    assert not any(map(is_installed, NAMES))
