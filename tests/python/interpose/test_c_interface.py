# SPDX-License-Identifier: Apache-2.0
"""Programs that link Stretto: installed files, how builds find them, and the order of libraries."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from stretto import _core
from stretto.launch import mpi
from stretto.support import paths

ROOT = Path(__file__).parents[3]
LINKING = ROOT / "tests" / "linking"
PLAIN = [LINKING / "main.c", LINKING / "solve.c"]
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def declared(header: str) -> set[str]:
    text = (ROOT / "include" / "stretto" / header).read_text(encoding="utf-8")
    return set(re.findall(r"\b(stretto_\w+)\(", text))


FUNCTIONS = declared("stretto.h")
FOR_FRAMEWORKS = declared("group.h") - FUNCTIONS

every_interface = pytest.mark.parametrize("abi", ["openmpi", "mpich", "abi"])


def attempt(argv: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
    # CMake and Ninja come from the virtual environment.
    clean["PATH"] = f"{Path(sys.executable).parent}:{clean['PATH']}"
    return subprocess.run(
        [str(word) for word in argv],
        env={**clean, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )


def output_of(argv: Sequence[str | Path], **environment: str) -> str:
    ended = attempt(argv, **environment)
    assert ended.returncode == 0, f"{argv}: {ended.returncode}\n{ended.stdout}"
    return ended.stdout


def mpicc(abi: str) -> str:
    """The compiler wrapper. That of the standard ABI comes with an MPICH 5."""
    return (
        str(mpi.find_install("mpich5").launcher.path.with_name("mpicc_abi"))
        if abi == "abi"
        else f"mpicc.{abi}"
    )


def on_two_ranks(abi: str, program: Path, *arguments: str, **settings: str) -> list[str | Path]:
    if abi == "openmpi":
        line = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader"]
        line += ["--mca", "mpi_yield_when_idle", "1"]
        line += [word for name, value in settings.items() for word in ("-x", f"{name}={value}")]
    else:
        line = [str(mpi.find_install("mpich5").launcher.path) if abi == "abi" else "mpirun.mpich"]
        line += [word for name, value in settings.items() for word in ("-env", name, value)]
    return [*line, "-n", "2", program, *arguments]


def built(source: Path, build: Path, abi: str, *definitions: str) -> Path:
    """A CMake project for one MPI."""
    compiler = f"-DMPI_C_COMPILER={mpicc(abi)}"
    output_of(["cmake", "-G", "Ninja", "-S", source, "-B", build, compiler, *definitions])
    output_of(["cmake", "--build", build])
    return build


def pkg_config(folder: Path, *arguments: str) -> list[str]:
    return output_of(["pkg-config", *arguments], PKG_CONFIG_PATH=str(folder)).split()


def check_allreduce_is_strettos(abi: str, program: Path, stats: Path) -> None:
    line = on_two_ranks(abi, program, STRETTO_ALLREDUCE="ring", STRETTO_STATS=str(stats))
    assert output_of(line) == "", program
    calls = json.loads(stats.read_text())["calls"]
    assert [(call["collective"], call["spec"], call["calls"]) for call in calls] == [("allreduce", "ring", 1)]
    stats.unlink()


def check_overlap(abi: str, program: Path) -> None:
    said = output_of(on_two_ranks(abi, program))
    assert said == (
        f"Stretto {_core.version()} on 2 ranks: MPI_Allreduce takes ring, this program ring:segments=4\n"
        "4 sums of 262144 doubles: right\n"
    )


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder to which an installed build was moved. Its libraries are the installed package's."""
    folder = tmp_path_factory.mktemp("plain")
    options = ["-DCMAKE_INSTALL_LIBDIR=lib64", "-DCMAKE_BUILD_TYPE=Release"]
    output_of(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder / "build", *options])
    command = paths.find_command()
    assert command is not None
    names = ("libstretto.so.0", "libstretto.so", "libstretto-core.so", "libstretto-audit.so")
    parts = [paths.library().with_name(name) for name in names]
    for made in [command, *parts]:
        shutil.copy2(made, folder / "build")
    output_of(["cmake", "--install", folder / "build", "--prefix", folder / "made"])
    return (folder / "made").rename(folder / "moved")


def test_what_a_plain_build_installs(prefix: Path) -> None:
    made = {str(file.relative_to(prefix)) for file in prefix.rglob("*") if file.is_file()}
    lib = "lib64"
    assert made == {
        "bin/stretto",
        "include/stretto/group.h",
        "include/stretto/stretto.h",
        f"{lib}/cmake/Stretto/StrettoConfig.cmake",
        f"{lib}/cmake/Stretto/StrettoConfigVersion.cmake",
        f"{lib}/cmake/Stretto/StrettoTargets.cmake",
        f"{lib}/cmake/Stretto/StrettoTargets-release.cmake",
        f"{lib}/libstretto-audit.so",
        f"{lib}/libstretto-core.so",
        f"{lib}/libstretto.so",
        f"{lib}/libstretto.so.0",
        f"{lib}/pkgconfig/stretto.pc",
        "share/stretto/spank_stretto.c",
    }
    texts = [prefix / file for file in made if not file.endswith((".so", ".so.0", "bin/stretto"))]
    assert [file for file in texts if str(prefix.parent) in file.read_text(encoding="utf-8")] == []


@every_interface
def test_programs_linked_by_cmake_call_stretto_first(abi: str, prefix: Path, tmp_path: Path) -> None:
    found = f"-DStretto_DIR={prefix}/lib64/cmake/Stretto"
    build = built(LINKING, tmp_path, abi, found)
    for program in ("stretto_first", "mpi_first", "as_needed", "through_static", "above_shared"):
        check_allreduce_is_strettos(abi, build / program, tmp_path / "stats.json")


@every_interface
@pytest.mark.parametrize("place", ["package", "prefix"])
def test_programs_linked_by_pkg_config_call_stretto_first(
    abi: str, place: str, prefix: Path, tmp_path: Path
) -> None:
    folder = paths.pkgconfig_folder() if place == "package" else prefix / "lib64/pkgconfig"
    [libdir] = pkg_config(folder, "--variable=libdir", "stretto")
    flags = [*pkg_config(folder, "--cflags", "--libs", "stretto"), f"-Wl,-rpath,{libdir}"]
    output_of([mpicc(abi), "-Wl,--as-needed", *PLAIN, *flags, "-o", tmp_path / "plain"])
    check_allreduce_is_strettos(abi, tmp_path / "plain", tmp_path / "stats.json")
    assert pkg_config(folder, "--modversion", "stretto") == [_core.version()]


@every_interface
def test_the_example_by_cmake(abi: str, tmp_path: Path) -> None:
    build = built(ROOT / "examples", tmp_path, abi, f"-DStretto_DIR={paths.cmake_folder()}")
    check_overlap(abi, build / "overlap")
    ended = attempt(on_two_ranks(abi, build / "overlap", "rnig"))
    assert ended.returncode != 0
    assert 'overlap: spec "rnig": there is no allreduce algorithm "rnig"' in ended.stdout


@every_interface
def test_the_example_by_the_flags_of_stretto_config(abi: str, tmp_path: Path) -> None:
    flags = [*paths.compile_flags(), *paths.link_flags()]
    source = ROOT / "examples" / "overlap.c"
    output_of([mpicc(abi), "-std=c99", *STRICT, source, *flags, "-o", tmp_path / "overlap"])
    check_overlap(abi, tmp_path / "overlap")
    spec = "recursive_doubling:segments=2"
    stats = str(tmp_path / "stats.json")
    said = output_of(on_two_ranks(abi, tmp_path / "overlap", spec, STRETTO_STATS=stats))
    report = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert {(call["spec"], call["calls"]) for call in report["calls"]} == {(spec, 4)}


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("99", f"version: {_core.version()}"),
        ("0.0", f"version: {_core.version()}"),
    ],
)
def test_what_is_not_there_is_not_found(wanted: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(seeker LANGUAGES NONE)\n"
        f"find_package(Stretto {wanted} REQUIRED)\n"
    )
    ended = attempt(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DStretto_DIR={paths.cmake_folder()}"]
    )
    assert ended.returncode != 0
    assert reason in ended.stdout


@every_interface
@pytest.mark.parametrize("language", ["c99", "c++98"])
def test_the_header_compiles_without_a_warning(abi: str, language: str, tmp_path: Path) -> None:
    source = tmp_path / ("program.cpp" if "+" in language else "program.c")
    source.write_text("#include <stretto/stretto.h>\nint main(void) { return stretto_version() == NULL; }\n")
    # Only warnings of our header count, not those of the MPI library's.
    shown = output_of([mpicc(abi), "-show"]).split()
    includes = [f"-isystem{word.removeprefix('-I')}" for word in shown if word.startswith("-I")]
    compiler = "g++" if "+" in language else "gcc"
    output_of(
        [compiler, f"-std={language}", *STRICT, "-fsyntax-only", *includes, *paths.compile_flags(), source]
    )


CHOICES = r"""
#include <stdio.h>
#include <stretto/stretto.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    char spec[256];
    const int code = stretto_choice(argv[i], MPI_COMM_WORLD, 1 << 11, spec, (int)sizeof spec);
    if (rank == 0) puts(code == MPI_SUCCESS ? spec : code == MPI_ERR_ARG ? "no collective" : "?");
  }
  MPI_Finalize();
  return 0;
}
"""


@every_interface
def test_the_choice_depends_on_the_form(abi: str, tmp_path: Path) -> None:
    source = tmp_path / "choices.c"
    source.write_text(CHOICES)
    flags = [*paths.compile_flags(), *paths.link_flags()]
    output_of([mpicc(abi), source, *flags, "-o", tmp_path / "choices"])
    names = ["allreduce", "iallreduce", "allreduce_init", "ibcast", "init", "i", "_init", "iallreduce_init"]
    chosen = output_of(on_two_ranks(abi, tmp_path / "choices", *names)).splitlines()
    doubling = "recursive_doubling"
    assert chosen == ["native", doubling, doubling, "native", *["no collective"] * 4]


def test_the_library_has_what_the_header_declares_and_no_more() -> None:
    listed = output_of(["nm", "-D", "--defined-only", paths.library()])
    names = {line.split()[-1].partition("@")[0] for line in listed.splitlines()}
    assert {name for name in names if name.startswith("stretto_")} == FUNCTIONS | FOR_FRAMEWORKS | {
        "stretto_serve_measuring_program",  # for the measuring program of the same build
        "stretto_front_audit",  # for the auditor
    }
    assert len(FUNCTIONS) == 59
    assert len(FOR_FRAMEWORKS) == 38


def test_every_function_is_in_the_docs() -> None:
    page = (ROOT / "docs" / "c-interface.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(stretto_\w+)[`(]", page))
    # The functions for frameworks are documented in their header.
    assert named - FOR_FRAMEWORKS == FUNCTIONS
