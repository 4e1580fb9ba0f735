# SPDX-License-Identifier: Apache-2.0
"""Every MPI function has a class in src/interpose/entries/functions.txt."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from stretto.support.paths import library

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "src" / "interpose" / "entries" / "functions.txt"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("classify_functions", ROOT / "cmake/classify_functions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


classify = load()


def header_of(compiler: list[str]) -> str:
    return subprocess.run(
        [*compiler, "-E", "-P", "-x", "c", "-"],
        input="#include <mpi.h>\n",
        check=True,
        capture_output=True,
        text=True,
    ).stdout


COMPILERS = {
    "openmpi4": ["mpicc.openmpi"],
    "mpich4": ["mpicc.mpich"],
    **{
        name: ["gcc", "-I", str(ROOT / ".mpi" / name / "include")]
        for name in ("openmpi5", "mpich5", "intelmpi")
    },
    "abi": [str(ROOT / ".mpi/mpich5/bin/mpicc_abi")],
}


@pytest.mark.parametrize("name", COMPILERS)
def test_each_function_of_each_library_is_classified(name: str) -> None:
    functions = classify.read_functions(header_of(COMPILERS[name]))
    assert len(functions) > 400
    assert functions["MPI_Sendrecv"] == 12
    assert functions["MPI_Finalize"] == 0
    entries, unknown = classify.make_entries(functions, classify.read_table(TABLE.read_text()))
    assert unknown == []
    words = "(Word a0, Word a1, Word a2, Word a3), (a0, a1, a2, a3), a3"
    assert f"STRETTO_WAITS(MPI_Comm_split, {words})" in entries


@pytest.mark.parametrize("name", ["openmpi4", "mpich4", "abi"])
def test_what_has_an_entry_is_exported(name: str) -> None:
    functions = classify.read_functions(header_of(COMPILERS[name]))
    classes = classify.read_table(TABLE.read_text())
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", str(library())], check=True, capture_output=True, text=True
    ).stdout.split()
    wanted = {
        name for name in functions if classify.find_class(name.removeprefix("MPI_"), classes) != "local"
    }
    assert wanted <= set(symbols)
    assert {f"P{name}" for name in wanted} <= set(symbols)


def test_a_function_that_nobody_classified() -> None:
    entries, unknown = classify.make_entries({"MPI_New_thing": 2, "MPI_Barrier": 1}, {"Barrier": "waits"})
    assert "MPI_Barrier" in entries
    assert unknown == ["MPI_New_thing"]


def test_large_counts_go_with_their_function_unless_it_has_an_entry() -> None:
    classes = classify.read_table("[waits]\nScan  # a comment\n[own]\nSend\n[local]\nT_*\n")
    assert classify.find_class("Scan_c", classes) == "waits"
    assert classify.find_class("Send_c", classes) is None
    assert classify.find_class("T_init_thread", classes) == "local"


@pytest.mark.parametrize(
    ("table", "message"),
    [("[waits]\nScan\n[local]\nScan\n", "'Scan' stands in"), ("[never]\n", "there is no class 'never'")],
)
def test_a_wrong_table(table: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classify.read_table(table)
