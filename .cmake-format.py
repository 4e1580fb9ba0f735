# SPDX-License-Identifier: Apache-2.0
"""What cmake-lint checks (make lint). It formats nothing."""

with section("format"):  # noqa: F821  cmake-lint has it
    line_width = 120

with section("lint"):  # noqa: F821
    disabled_codes = [
        "C0103",  # variables of a folder are in lower case
        "C0111",  # the top of a file describes its functions
        "C0113",  # a comment of a command would be printed by each build
        "E1120",  # foreach(level RANGE 3)
        "E1126",  # file(CONFIGURE), which is newer than cmake-lint
        "R0915",
        "W0106",  # CMAKE_${language}_COMPILER_LAUNCHER
    ]
