# SPDX-License-Identifier: Apache-2.0
"""Each folder of sources is a room, and includes only what stands in itself or in a lower room."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"

# Lowest first. A folder that is not named belongs to the nearest one above it that is.
CPP_ROOMS = (
    *(
        "text",
        "threads",
        "progress",
        "schedule",
        "algorithms",
        "verify",
        "model",
        "kernels",
        "engine",
        "select",
    ),
    *("bindings", "bench/cases", "simulate", "bench/library", "bench/measure", "bench/output"),
    *("bench/calibration/common", "bench/calibration/phases", "bench/calibration", "bench"),
    *("interpose/session", "interpose/handles", "interpose/progress", "interpose/communicators"),
    *("interpose/observe", "interpose/operations", "interpose/dispatch", "interpose/collectives"),
    *("interpose/start", "interpose/entries", "interpose/interface"),
)

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


def cpp_edges(sources: Path = SOURCES) -> Iterable[Edge]:
    """Yields the includes between the folders of C++ sources."""
    for file in sorted(sources.rglob("*.[ch]pp")):
        room = find_room(file.parent.relative_to(sources).as_posix(), CPP_ROOMS, "/")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            include = re.match(r'#include "(.+)/.+"', line)
            if include and (sources / include[1]).is_dir():
                yield (
                    room,
                    find_room(include[1], CPP_ROOMS, "/"),
                    f"{file.relative_to(sources.parent)}:{number}",
                )


def test_no_include_points_upward() -> None:
    assert find_upward_edges(CPP_ROOMS, cpp_edges()) == []


def test_every_room_has_sources() -> None:
    assert [room for room in CPP_ROOMS if not list((SOURCES / room).glob("*.[ch]pp"))] == []


def test_an_include_that_points_upward_is_named(tmp_path: Path) -> None:
    file = tmp_path / "src/engine/element.cpp"
    file.parent.mkdir(parents=True)
    (tmp_path / "src/select").mkdir()
    file.write_text('#include "engine/element.hpp"\n#include "select/spec.hpp"\n')
    assert find_upward_edges(CPP_ROOMS, cpp_edges(tmp_path / "src")) == [
        "engine -> select: src/engine/element.cpp:2"
    ]


def test_a_folder_outside_all_rooms_is_an_error() -> None:
    with pytest.raises(AssertionError, match="cellar is in none of the rooms"):
        find_room("cellar", CPP_ROOMS, "/")
