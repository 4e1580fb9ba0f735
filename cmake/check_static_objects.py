# SPDX-License-Identifier: Apache-2.0
"""Checks that nothing of Stretto's runs when its library is loaded, or when the process ends.

Programs use MPI before the constructors of a preloaded library (in a constructor of their own library) and
after destructors have run (in that of a global object). So static objects are constant-initialized, or made
at their first use and never destroyed (src/threads/immortal.hpp). Called by ctest:

    check_static_objects.py LIBRARY FILE_WITH_PATHS_OF_OBJECTS
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

# Of the C compiler, and of libstdc++, which is linked statically: its sources are *.cc, Stretto's are *.cpp.
# (Not that of <iostream>.)
ALLOWED_FUNCTION = re.compile(r"^frame_dummy$|^_GLOBAL__sub_I_(?!ios_init|globals_io)\w+\.cc$")
AT_LOAD = re.compile(r"\.(preinit_array|init_array|fini_array|ctors|dtors)\b")
AT_EXIT = re.compile(r"\bU (__cxa_atexit|__cxa_thread_atexit|__cxa_thread_atexit_impl|atexit)$")


def output_of(*command: str | Path) -> str:
    """What a command writes."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def faults_of_object(path: Path) -> list[str]:
    """What an object of Stretto's does at load or exit."""
    name = path.name.removesuffix(".o")
    sections = set(AT_LOAD.findall(output_of("readelf", "-SW", path)))
    faults = [f"{name}: .{section}" for section in sorted(sections)]
    imported = [AT_EXIT.search(line.rstrip()) for line in output_of("nm", path).splitlines()]
    return faults + [f"{name}: {found[1]}" for found in imported if found]


def functions_at_load(library: Path) -> list[str]:
    """The functions of .init_array, by name."""
    array = re.search(r"\s\.init_array\s+\w+\s+(\w+)\s+\w+\s+(\w+)", output_of("readelf", "-SW", library))
    if array is None:
        return []
    begin, size = int(array[1], 16), int(array[2], 16)
    names = {}
    for line in output_of("nm", library).splitlines():
        words = line.split()
        if len(words) == 3:
            names[int(words[0], 16)] = words[2]
    entries = re.findall(
        r"^(\w+)\s+\w+\s+\w*RELATIVE\w*\s+(\w+)$", output_of("readelf", "-rW", library), re.MULTILINE
    )
    inside = [int(target, 16) for place, target in entries if begin <= int(place, 16) < begin + size]
    return [names.get(target, f"{target:#x}") for target in inside]


def main(library: Path, objects: list[Path]) -> int:
    """Names what must not be; returns the status."""
    faults = [fault for path in objects for fault in faults_of_object(path)]
    faults += [
        f"{library.name} runs {function} when it is loaded"
        for function in functions_at_load(library)
        if not ALLOWED_FUNCTION.match(function)
    ]
    for fault in faults:
        print(f"{fault} (see src/threads/immortal.hpp)", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    list_of_objects = Path(sys.argv[2]).read_text(encoding="utf-8").split()
    sys.exit(main(Path(sys.argv[1]), [Path(path) for path in list_of_objects]))
