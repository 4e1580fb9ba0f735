# SPDX-License-Identifier: Apache-2.0
"""The mark by which ranks find whether they were built from the same sources
(cmake/write_build_mark.cmake)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.python.conftest import ROOT

from stretto.support.paths import library

NAMES = ["src/a.hpp", "src/b/a.cpp"]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"// {name}\n")
    return folder


def mark(folder: Path, names: list[str] = NAMES) -> str:
    names_file, output = folder / "names", folder / "mark.cpp"
    names_file.write_text("".join(f"{name}\n" for name in names))
    script = ROOT / "cmake" / "write_build_mark.cmake"
    given = [f"-Dfolder={folder}", f"-Dlist={names_file}", f"-Doutput={output}"]
    subprocess.run(["cmake", *given, "-P", str(script)], check=True, capture_output=True)
    (found,) = re.findall(r'"stretto build ([0-9a-f]{16})"', output.read_text())
    return str(found)


def test_it_tells_names_and_contents(sources: Path) -> None:
    marks = [mark(sources), mark(sources, NAMES[:1])]
    (sources / NAMES[0]).write_text("// another\n")
    marks.append(mark(sources))
    (sources / NAMES[0]).rename(sources / "src/c.hpp")
    marks.append(mark(sources, ["src/b/a.cpp", "src/c.hpp"]))
    assert len(set(marks)) == len(marks)


def test_it_tells_nothing_else(sources: Path, tmp_path: Path) -> None:
    before = mark(sources)
    os.utime(sources / NAMES[0], (0, 0))
    (sources / "src" / "other.cpp").write_text("not in the list")
    assert mark(sources) == before
    moved = tmp_path / "elsewhere"
    shutil.copytree(sources, moved)
    assert mark(moved) == before


def test_the_library_has_one_mark() -> None:
    core = library().parent / "libstretto-core.so"
    assert len(re.findall(rb"stretto build [0-9a-f]{16}", core.read_bytes())) == 1
