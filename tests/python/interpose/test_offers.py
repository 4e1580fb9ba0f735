# SPDX-License-Identifier: Apache-2.0
"""What the process's MPI library lacks, a program does not find under Stretto either, however it asks."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from tests.python.interpose.test_pairings import LIBRARIES, Library, Programs, run

from stretto.support.paths import library

every_library = pytest.mark.parametrize("target", LIBRARIES, ids=str)

# Writes the names of the functions that exist: by weak references, which the linker binds at the start, and
# by look-ups then, and after the MPI library was opened if there is one in the arguments. Each rank writes a
# file of its own in the folder that the first argument names.
ASKS = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
{declarations}
static const struct {{ const char* name; void* weak; }} all[] = {{ {entries} }};
static FILE* file;
static void show(const char* when) {{
  fprintf(file, "%s:", when);
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
    if (when[0] == 'w' ? all[i].weak != 0 : dlsym(RTLD_DEFAULT, all[i].name) != 0)
      fprintf(file, " %s", all[i].name);
  fprintf(file, "\\n");
}}
int main(int argc, char** argv) {{
  char name[4096];
  snprintf(name, sizeof name, "%s/%d", argv[1], (int)getpid());
  file = fopen(name, "w");
  show("weak");
  show("first");
  if (argc > 2 && dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) != 0) show("then");
  return fclose(file);
}}
"""

# Asks for a function before there is an MPI library, calls it if there is one, and then opens a plug-in.
OPENS_A_PLUGIN = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
__attribute__((weak)) int MPI_Init(int*, char***);
int main(int argc, char** argv) {
  int level;
  int (*query)(int*) = (int (*)(int*))dlsym(RTLD_DEFAULT, "MPI_Query_thread");
  if (query) query(&level);
  if (MPI_Init) MPI_Init(&argc, &argv);
  void* plugin = dlopen(argv[1], RTLD_NOW);
  if (!plugin) return puts(dlerror()), 2;
  return ((int (*)(void))dlsym(plugin, "work"))();
}
"""
PLUGIN = """\
#include <mpi.h>
#include <stdio.h>
int work(void) {
  int level, rank, one = 1, sum;
  MPI_Init(0, 0);
  MPI_Query_thread(&level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && sum == 2) puts("right");
  return MPI_Finalize();
}
"""


@cache
def functions() -> list[str]:
    """The functions of MPI that Stretto has."""
    shown = subprocess.run(["nm", "-D", library()], check=True, capture_output=True, text=True).stdout
    return re.findall(r" T (P?MPIX?_\w+)", shown)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("offers"))


def build(programs: Programs, name: str, body: str, compiler: str, *options: str) -> Path:
    out = programs.folder / name
    if not out.exists():
        source = out.with_suffix(".c")
        source.write_text(body)
        command = [compiler, "-O1", str(source), "-o", str(out), *options, "-Wl,--enable-new-dtags", "-ldl"]
        subprocess.run(command, check=True, capture_output=True)
    return out


def asks(programs: Programs, name: str, compiler: str, *options: str) -> Path:
    declarations = "\n".join(f"extern int {one}() __attribute__((weak));" for one in functions())
    entries = ", ".join(f'{{"{one}", (void*){one}}}' for one in functions())
    body = ASKS.format(declarations=declarations, entries=entries)
    return build(programs, name, body, compiler, *options)


def found(
    target: Library, folder: Path, program: Path, *opened: Path, stretto: bool, audited: bool = True
) -> list[str]:
    """What the ranks of a program have written, which is the same for all."""
    folder.mkdir()
    alone = [] if stretto else ["env", "-u", "LD_AUDIT", "-u", "LD_PRELOAD"]
    ran = run(target, [*alone, str(program), str(folder), *map(str, opened)], audited=audited)
    assert ran.code == 0, ran.output
    one, other = (file.read_text() for file in folder.iterdir())
    assert one == other
    return one.splitlines()


@every_library
def test_linked_with_a_library(target: Library, programs: Programs, tmp_path: Path) -> None:
    compiler = programs.compiler(target.abi)
    program = asks(programs, f"linked-{target.abi}", compiler, "-Wl,--no-as-needed")
    alone = found(target, tmp_path / "alone", program, stretto=False)
    assert "MPI_Allreduce" in alone[0]
    assert found(target, tmp_path / "under", program, stretto=True) == alone


@every_library
def test_before_and_after_a_library_is_opened(target: Library, programs: Programs, tmp_path: Path) -> None:
    program = asks(programs, "opens", "cc")
    alone = found(target, tmp_path / "alone", program, target.path(), stretto=False)
    assert alone[:2] == ["weak:", "first:"]
    assert "MPI_Allreduce" in alone[2]
    assert found(target, tmp_path / "under", program, target.path(), stretto=True) == alone


@every_library
def test_a_preload_without_an_auditor(target: Library, programs: Programs, tmp_path: Path) -> None:
    """What is looked up after the start is what the library has."""
    program = asks(programs, "opens", "cc")
    alone = found(target, tmp_path / "alone", program, target.path(), stretto=False)
    under = found(target, tmp_path / "under", program, target.path(), stretto=True, audited=False)
    assert under[1:] == alone[1:]


@every_library
def test_asked_before_a_plugin_with_mpi(target: Library, programs: Programs) -> None:
    program = build(programs, "opens-a-plugin", OPENS_A_PLUGIN, "cc")
    options = ["-shared", "-fPIC", "-DOMPI_SKIP_MPICXX"]
    plugin = build(programs, f"plugin-{target.abi}.so", PLUGIN, programs.compiler(target.abi), *options)
    ran = run(target, [str(program), str(plugin)])
    assert ran.code == 0, ran.output
    assert "right" in ran.output.splitlines(), ran.output
    assert ran.served, ran.output
