# SPDX-License-Identifier: Apache-2.0
"""Writes the list of the functions that libstretto-core.so exports, of which libstretto.so has an entry each.

front_entries.py READELF CORE OUTPUT
"""

import re
import subprocess
import sys
from pathlib import Path

# What the two libraries say to each other is no function of a program.
BETWEEN = "stretto_core_"


def main() -> None:
    """Reads the symbols of CORE and writes OUTPUT."""
    readelf, core, output = sys.argv[1:]
    command = [readelf, "-W", "--dyn-syms", core]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    functions = re.findall(r"\bFUNC\s+GLOBAL\s+DEFAULT\s+\d+\s+(\w+)\s*$", shown, re.MULTILINE)
    names = sorted(name for name in functions if not name.startswith(BETWEEN))
    if not names:
        sys.exit(f"error: {core} exports no function; look at src/interpose/exports.map")
    lines = [f"STRETTO_ENTRY({number}, {name})" for number, name in enumerate(names)]
    Path(output).write_text("// Made by cmake/front_entries.py.\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
