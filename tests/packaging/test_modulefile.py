# SPDX-License-Identifier: Apache-2.0
"""The module file under Debian's Environment Modules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stretto.support.paths import cmake_folder, find_command, pkgconfig_folder

ROOT = Path(__file__).parents[2]
MODULE_FILE = ROOT / "packaging" / "modulefiles" / "stretto"
INIT = Path("/usr/share/modules/init/bash")

pytestmark = pytest.mark.packages


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Makes the folder that the module file's comment describes, with this installation's programs."""
    command = find_command()
    assert command is not None
    made = tmp_path / "prefix"
    (made / "bin").mkdir(parents=True)
    (made / "env").symlink_to(sys.prefix)
    (made / "bin" / "stretto").symlink_to(Path("..", "env", "bin", command.name))
    return made


def run(tmp_path: Path, prefix: Path, script: str) -> list[str]:
    """The lines that a shell prints after `module use` of a folder that has the file for this prefix."""
    assert INIT.exists(), "there are no Environment Modules: apt-get install environment-modules"
    file = tmp_path / "modulefiles" / "stretto" / "0.1.0"
    file.parent.mkdir(parents=True)
    text, changed = re.subn(
        r"^set prefix .*$",
        f"set prefix {prefix}",
        MODULE_FILE.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert changed == 1
    file.write_text(text)
    ran = subprocess.run(
        ["bash", "-c", f". {INIT}; module use {tmp_path}/modulefiles; {script}"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout.splitlines()


def test_load_and_unload(tmp_path: Path, prefix: Path) -> None:
    shown = 'echo "$PATH|$CMAKE_PREFIX_PATH|$PKG_CONFIG_PATH|$LD_PRELOAD|$LD_LIBRARY_PATH"'
    before, after, gone = run(
        tmp_path, prefix, f"{shown}; module load stretto; {shown}; module unload stretto; {shown}"
    )
    assert before == gone == "/usr/bin:/bin||||"
    path, cmake, pkgconfig, preload, library_path = after.split("|")
    assert path == f"{prefix}/bin:/usr/bin:/bin"
    assert (Path(cmake) / "lib" / "cmake" / "Stretto").samefile(cmake_folder())
    assert Path(pkgconfig).samefile(pkgconfig_folder())
    assert preload == library_path == ""


def test_what_is_loaded_works(tmp_path: Path, prefix: Path) -> None:
    script = """
        python=$(command -v python3); module load stretto
        command -v stretto
        test "$(command -v python3)" = "$python" && echo "the same Python"
        stretto --version
        stretto exec sh -c 'echo $LD_PRELOAD'
        pkg-config --modversion stretto
        module whatis stretto 2>&1 | grep -o 'fast MPI collectives'
    """
    command, python, version, preloaded, of_pkgconfig, what = run(tmp_path, prefix, script)
    assert command == f"{prefix}/bin/stretto"
    assert python == "the same Python"
    assert version == f"stretto {of_pkgconfig}"
    assert Path(preloaded).name == "libstretto.so"
    assert what


def test_cmake_finds_it(tmp_path: Path, prefix: Path) -> None:
    source = ROOT / "tests" / "linking"
    build = tmp_path / "build"
    script = (
        f"module load stretto; cmake -S {source} -B {build} -DMPI_C_COMPILER=mpicc.openmpi"
        f" && grep Stretto_DIR {build}/CMakeCache.txt"
    )
    found = run(tmp_path, prefix, script)[-1]
    assert Path(found.partition("=")[2]).samefile(cmake_folder())


def test_a_wrong_prefix_is_named(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    output = run(tmp_path, nowhere, "module load stretto; command -v stretto || echo none")
    assert f"stretto: no libstretto is below {nowhere}; set prefix in the module file" in output
    assert output[-1] == "none"
