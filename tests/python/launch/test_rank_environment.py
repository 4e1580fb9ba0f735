# SPDX-License-Identifier: Apache-2.0
"""A rank has the same environment under `stretto run`, under `stretto exec`, and by Slurm's plugin."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.launch.environment import RANK_VARIABLES
from stretto.support.paths import command, library

ROOT = Path(__file__).parents[3]
HEADER = ROOT / "src" / "exec" / "rank_environment.h"
STRETTO = str(command())
OPTIONS = ["--spec=ring", "--spec", "bcast/chain", "--strict", "--stats", "calls.json"]
# What Stretto sets for a rank. Launchers set the rest.
OURS = re.compile(r"LD_|ASAN_OPTIONS$|MPI4PY_|STRETTO_")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PRELOADED = {"LD_PRELOAD": os.environ.get("LD_PRELOAD", "") + ":libmpi.so.40", "ASAN_OPTIONS": "a=1"}


def environments(line: Sequence[str], folder: Path) -> list[dict[str, str]]:
    """What Stretto has set for each rank. Each writes a file, since launchers mix the ranks' lines."""
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
    environment = kept | AS_ROOT | PRELOADED | {"STRETTO_FABRIC": "none", "STRETTO_TABLE": "table.json"}
    ran = subprocess.run(line, cwd=folder.parent, env=environment, capture_output=True, text=True, timeout=90)
    assert ran.returncode == 0, ran.stderr
    texts = [file.read_text().split("\0") for file in folder.iterdir()]
    pairs = [[line.partition("=") for line in text if OURS.match(line)] for text in texts]
    return [{name: value for name, _, value in one} for one in pairs]


def both(
    launcher: Sequence[str], programs: Sequence[Sequence[str]], folder: Path
) -> list[list[dict[str, str]]]:
    """The environments under `run`, and under `exec` in front of each program."""

    def line(under: Sequence[str], out: str) -> list[str]:
        words: list[str] = []
        for number, around in enumerate(programs):
            written = f'env -0 >"$0/$$.{number}"'
            words += [":"] if number else []
            words += ["-np", "2", *under, *around, "sh", "-c", written, str(folder / out)]
        return [*launcher, *words]

    by_run = [STRETTO, "run", *OPTIONS, "--", *line([], "run")]
    by_exec = line([STRETTO, "exec", *OPTIONS], "exec")
    return [environments(by_run, folder / "run"), environments(by_exec, folder / "exec")]


OWN_PROGRAM: list[str] = []
SHELL = ["sh", "-c", '"$@"; exit $?', "sh"]
SHELLS = ["bash", "-c", 'exec "$@"', "bash", *SHELL]


@pytest.mark.parametrize(
    "programs",
    [[OWN_PROGRAM], [OWN_PROGRAM, OWN_PROGRAM], [SHELLS], [SHELL, OWN_PROGRAM]],
    ids=["one", "two", "shells", "two-shell"],
)
@pytest.mark.parametrize("launcher", ["mpirun.openmpi --oversubscribe", "mpirun.mpich"])
def test_run_and_exec(launcher: str, programs: list[list[str]], tmp_path: Path) -> None:
    by_run, by_exec = both(launcher.split(), programs, tmp_path)
    assert len(by_run) == len(by_exec) == 2 * len(programs)
    expected = by_exec[0]
    assert expected["STRETTO_BCAST"] == "chain"
    assert expected["LD_PRELOAD"].endswith(f"{library()}:libmpi.so.40")
    assert [one for one in by_run + by_exec if one != expected] == []


@pytest.mark.skipif(shutil.which("torchrun") is None, reason="torchrun is not installed")
def test_torchrun(tmp_path: Path) -> None:
    shows = ["--no-python", "sh", "-c", 'env -0 >"$0/$RANK"']
    line = ["torchrun", "--nproc-per-node", "2", *shows]
    for option in [], ["--replace", "gloo"]:
        folder = tmp_path / "-".join(["with", *option])
        folder.mkdir()
        inside, outside = (str(folder / name) for name in ("inside", "outside"))
        by_run = environments([STRETTO, "run", *option, "--", *line, outside], folder / "outside")
        ranks = [*line[:4], STRETTO, "exec", *option, *shows[1:], inside]
        assert by_run == environments(ranks, folder / "inside")
        assert ("LD_AUDIT" in by_run[0]) is not bool(option)


@pytest.fixture(scope="module")
def change_list(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The list of variables as Slurm's plugin has it: compiled as C, with the plugin's warnings."""
    folder = tmp_path_factory.mktemp("lists")
    source = folder / "lists.c"
    source.write_text(
        f'#include "{HEADER}"\n'
        "int count(void) { return sizeof stretto_variables / sizeof *stretto_variables; }\n"
        "const char* name(int i) { return stretto_variables[i].name; }\n"
        "const char* entry(int i) { return stretto_variables[i].entry; }\n"
        "void change(int i, char* out, const char* list, const char* entry, int in) {\n"
        "  stretto_change_list(out, list, stretto_variables[i].separators, entry, in != 0);\n}\n"
    )
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    out = folder / "lists.so"
    subprocess.run(["cc", *strict, "-shared", "-fPIC", source, "-o", out], check=True)
    lists = ctypes.CDLL(str(out))
    lists.name.restype = lists.entry.restype = ctypes.c_char_p
    return lists


def by_plugin(lists: ctypes.CDLL, values: dict[str, str], folder: str, *, wanted: bool) -> dict[str, str]:
    """What the plugin makes of a task's variables."""
    result = {}
    for number in range(lists.count()):
        name, entry = lists.name(number).decode(), lists.entry(number).decode()
        if entry.startswith("/"):
            entry = folder + entry
        value = values.get(name, "")
        out = ctypes.create_string_buffer(len(value.encode()) + len(entry.encode()) + 2)
        lists.change(number, out, value.encode(), entry.encode(), int(wanted))
        result[name] = out.value.decode()
    return result


def by_exec(values: dict[str, str]) -> dict[str, str]:
    words = [STRETTO, "exec", "--list"]
    lines = subprocess.run(words, env=values, capture_output=True, text=True, check=True).stdout.split("\0")
    return {name: value for name, _, value in (line.partition("=") for line in lines[:-1])}


ENTRIES = st.sampled_from(
    ["", "/a.so", "b.so", "/x/libmpi.so.40", "libmpich.so", "/y/libstretto.so", "libmpiP.so", "é"]
)
VALUES = st.fixed_dictionaries(
    {
        name: st.lists(ENTRIES, max_size=5).map(separator.join)
        for name, separator in (("LD_PRELOAD", " "), ("LD_AUDIT", ":"), ("ASAN_OPTIONS", ":"))
    }
)


@given(VALUES)
def test_the_plugin_and_exec(change_list: ctypes.CDLL, values: dict[str, str]) -> None:
    folder = str(library().parent)
    once = by_plugin(change_list, values, folder, wanted=True)
    assert once == by_exec(values)
    # Again, as in a job within a job, changes nothing, and all that was put in can be taken out.
    assert by_plugin(change_list, once, folder, wanted=True) == once
    for value in by_plugin(change_list, once, folder, wanted=False).values():
        assert folder not in value
        assert "verify_asan_link_order" not in value


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        ("", "{0}"),
        ("/a.so", "/a.so:{0}"),
        ("/a.so /b.so", "/a.so:/b.so:{0}"),
        ("{0}:/a.so", "/a.so:{0}"),
        ("/libmpi.so.40:/libmpiP.so:libmpich.so.12", "/libmpiP.so:{0}:/libmpi.so.40:libmpich.so.12"),
        ("/x/libstretto.so:/a.so", "/a.so:{0}:/x/libstretto.so"),
    ],
)
def test_what_is_preloaded_already_stays(existing: str, expected: str) -> None:
    value = by_exec({"LD_PRELOAD": existing.format(library())})["LD_PRELOAD"]
    assert value == expected.format(library())


def test_both_languages_know_the_same_variables_of_ranks() -> None:
    text = (ROOT / "src" / "text" / "rank_variables.hpp").read_text()
    rows = re.findall(r'RankVariables\{"(\w+)", (?:"(\w+)"|nullptr), Starts::(\w+)', text)
    assert [row[:2] for row in rows] == [row[:2] for row in RANK_VARIABLES]
    # Python knows the binary interface where only one MPI library's launcher sets a variable.
    of_mpi = {row[0] for row in rows if row[2] == "mpi_programs"}
    assert {row[0] for row in RANK_VARIABLES if row[2]} <= of_mpi
