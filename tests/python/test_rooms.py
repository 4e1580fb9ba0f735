# SPDX-License-Identifier: Apache-2.0
"""Each folder of sources is a room, and uses only itself and rooms below it, by their doors.

So does research/, a distribution of its own. It may use Stretto's rooms, and they never use it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PACKAGE = ROOT / "python" / "stretto"
RESEARCH = ROOT / "research" / "python" / "stretto_research"

# Lowest first. A folder that is not named belongs to the nearest one above it that is.
CPP_ROOMS = (
    *(
        "text",
        "elf",
        "front",
        "audit",
        "threads",
        "transport",
        "progress",
        "sockets",
        "topology",
        "schedule",
        "algorithms",
        "verify",
        "model",
        "kernels",
        "mpi",
        *("engine/data", "engine/messages", "engine/device", "engine/packing", "engine/staging"),
        "engine/execution",
        "select",
        *("learn/network", "learn/fabrics", "learn/races", "learn/steps"),
        "settings",
    ),
    *("exec", "slurm"),
    *("bindings", "bench/cases", "simulate", "bench/library", "bench/measure", "bench/output"),
    *("bench/calibration/common", "bench/calibration/phases", "bench/calibration", "bench"),
    *("interpose/session", "interpose/passing", "interpose/handles", "interpose/progress"),
    *("interpose/learning", "interpose/communicators", "interpose/observe", "interpose/operations"),
    *("interpose/check", "interpose/dispatch", "interpose/collectives"),
    *("interpose/start", "interpose/entries", "interpose/interface"),
    "faces",
)

PYTHON_ROOMS = (
    *("support", "spec", "results", "plots", "model", "launch", "sockets", "lab", "doctor"),
    *("autoload", "torch", "bench", "calibrate", "tune", "studies", "explain", "trace"),
    *("show", "report", "top", "cli"),
)
# A distribution above all of them: research/.
RESEARCH_ROOMS = (
    *("networks", "workers", "simulate", "training", "study", "regret", "predict", "replay", "reproduce"),
    *("advise", "cli"),
)
MOST_MODULES, MOST_LINES = 15, 3000

PACKAGES = [
    pytest.param(PACKAGE, PYTHON_ROOMS, id="stretto"),
    pytest.param(RESEARCH, RESEARCH_ROOMS, id="stretto_research"),
]

# From which room, to which, and where: "file:line".
Edge = tuple[str, str, str]


def find_room(name: str, rooms: Iterable[str], separator: str) -> str:
    """Returns the room of a folder or package: the longest name that it is or begins with."""
    matches = [room for room in rooms if f"{name}{separator}".startswith(f"{room}{separator}")]
    assert matches, f"{name} is in none of the rooms; add it to the list in {__file__}"
    return max(matches, key=len)


def find_upward_edges(rooms: tuple[str, ...], edges: Iterable[Edge]) -> list[str]:
    """Returns a line for each edge that leads to a room further up: `from -> to: file:line`."""
    level = {room: number for number, room in enumerate(rooms)}
    return [f"{low} -> {high}: {where}" for low, high, where in edges if level[high] > level[low]]


def sources_in(folder: Path) -> list[Path]:
    """Returns the sources and headers of C and C++ below a folder."""
    return sorted(file for file in folder.rglob("*") if file.suffix in (".c", ".h", ".cpp", ".hpp"))


def cpp_edges(sources: Path = SOURCES) -> Iterable[Edge]:
    """Yields the includes between the folders of C++ sources."""
    for file in sources_in(sources):
        room = find_room(file.parent.relative_to(sources).as_posix(), CPP_ROOMS, "/")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            include = re.match(r'#include "(.+)/.+"', line)
            if include and (sources / include[1]).is_dir():
                yield (
                    room,
                    find_room(include[1], CPP_ROOMS, "/"),
                    f"{file.relative_to(sources.parent)}:{number}",
                )


def files_with_mpi_h() -> list[str]:
    """Returns the sources that include the header of an MPI library."""
    pattern = re.compile(r'^\s*#\s*include\s*[<"](?:.*/)?s?mpi\.h[>"]', re.MULTILINE)
    return [
        file.relative_to(SOURCES).as_posix()
        for file in sources_in(SOURCES)
        if pattern.search(file.read_text(encoding="utf-8"))
    ]


def imported_modules(file: Path, package: Path) -> Iterable[tuple[str, int]]:
    """Yields each module of a package that a file imports, `room.module`, with the line."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{one.name}" for one in node.names]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == package.name and len(parts) > 2 and (package / parts[1]).is_dir():
                yield f"{parts[1]}.{parts[2]}", node.lineno


def python_edges(source: Path, package: Path) -> Iterable[tuple[str, str, str, str]]:
    """Yields the imports of a package's rooms by another package, or between them.

    From which room, to which, where, and the module's name.
    """
    for file in sorted(source.glob("*/**/*.py")):
        room = file.relative_to(source).parts[0]
        for name, line in imported_modules(file, package):
            other, module = name.split(".")
            if other != room or source != package:
                yield room, other, f"{file.relative_to(ROOT)}:{line}", module


def edges_to(package: Path) -> list[tuple[str, str, str, str]]:
    """Returns all imports between rooms that lead into a package."""
    return [edge for source in (PACKAGE, RESEARCH) for edge in python_edges(source, package)]


def doors_of(package: Path, room: str) -> list[str]:
    """Returns the modules that a room offers to others: `__all__` of its `__init__.py`."""
    for node in ast.parse((package / room / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            doors: list[str] = ast.literal_eval(node.value)
            return doors
    return []


def test_only_faces_know_an_mpi_h() -> None:
    files = files_with_mpi_h()
    assert files
    assert [file for file in files if not file.startswith("faces/")] == []


def test_each_source_is_compiled_once(tmp_path: Path) -> None:
    """The number of MPI interfaces does not matter. Only a face is compiled for its own interface."""
    argv = ["cmake", "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", "-D", "STRETTO_UNITY=OFF"]
    subprocess.run(argv, check=True, capture_output=True)
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    times = Counter(command["file"] for command in commands if command["file"].startswith(f"{SOURCES}/"))
    assert len(times) > 100
    assert [file for file, count in times.items() if count > 1] == []


@pytest.mark.parametrize(("package", "rooms"), PACKAGES)
def test_no_import_points_upward(package: Path, rooms: tuple[str, ...]) -> None:
    assert find_upward_edges(rooms, [edge[:3] for edge in python_edges(package, package)]) == []


def test_what_users_install_does_not_know_the_research() -> None:
    assert list(python_edges(PACKAGE, RESEARCH)) == []
    assert [file for file in PACKAGE.rglob("*.py") if "stretto_research" in file.read_text("utf-8")] == []


@pytest.mark.parametrize(("package", "rooms"), PACKAGES)
def test_rooms_are_entered_by_their_doors(package: Path, rooms: tuple[str, ...]) -> None:
    assert [
        f"{where}: {module} is not in __all__ of {other}"
        for _, other, where, module in edges_to(package)
        if module not in doors_of(package, other)
    ] == []
    assert rooms


@pytest.mark.parametrize(("package", "rooms"), PACKAGES)
def test_every_door_is_used(package: Path, rooms: tuple[str, ...]) -> None:
    used = {(other, module) for _, other, _, module in edges_to(package)}
    outside = {name for file in (ROOT / "scripts").rglob("*") if file.is_file() for name in names_in(file)}
    others = {"cli", "torch", "workers"}  # entered by users and launchers
    assert [
        f"{room}.{door}"
        for room in rooms
        if room not in others
        for door in doors_of(package, room)
        if (room, door) not in used and f"stretto.{room}.{door}" not in outside
    ] == []


def names_in(file: Path) -> list[str]:
    """Returns the modules that a script names."""
    return re.findall(r"stretto\.\w+\.\w+", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("package", "rooms"), PACKAGES)
def test_every_python_room_is_in_the_list(package: Path, rooms: tuple[str, ...]) -> None:
    assert sorted(one.parent.name for one in package.glob("*/__init__.py")) == sorted(rooms)
    assert {one.name for one in package.glob("*.py")} <= {"__init__.py", "__main__.py"}


@pytest.mark.parametrize(
    "room", [*(PACKAGE / room for room in PYTHON_ROOMS), *(RESEARCH / room for room in RESEARCH_ROOMS)],
    ids=lambda room: f"{room.parent.name}.{room.name}",
)  # fmt: skip
def test_a_room_is_small(room: Path) -> None:
    modules = [one for one in room.rglob("*.py") if one.name != "__init__.py"]
    assert sum(len(one.read_text(encoding="utf-8").splitlines()) for one in modules) <= MOST_LINES
    # The command line has a file a command.
    assert len(modules) <= MOST_MODULES or room.name == "cli"


def test_no_include_points_upward() -> None:
    assert find_upward_edges(CPP_ROOMS, cpp_edges()) == []


def test_every_room_has_sources() -> None:
    assert [room for room in CPP_ROOMS if not sources_in(SOURCES / room)] == []


def test_an_include_that_points_upward_is_named(tmp_path: Path) -> None:
    file = tmp_path / "src/engine/data/element.cpp"
    file.parent.mkdir(parents=True)
    (tmp_path / "src/select").mkdir()
    file.write_text('#include "engine/data/element.hpp"\n#include "select/spec.hpp"\n')
    assert find_upward_edges(CPP_ROOMS, cpp_edges(tmp_path / "src")) == [
        "engine/data -> select: src/engine/data/element.cpp:2"
    ]


def test_a_folder_outside_all_rooms_is_an_error() -> None:
    with pytest.raises(AssertionError, match="cellar is in none of the rooms"):
        find_room("cellar", CPP_ROOMS, "/")
