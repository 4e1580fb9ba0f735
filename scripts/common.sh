# SPDX-License-Identifier: Apache-2.0
# Read by the other scripts: where things are, and how they report.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
jobs=$(nproc)
cd "$root"
# CMake and Ninja come from the virtual environment too.
export PATH=$venv/bin:$PATH
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs

step() { printf '== %s\n' "$*"; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# The sources that are formatted and linted, each followed by a NUL.
cpp_files() {
    find . \( -name build -o -name '.?*' \) -prune -o \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' \) -print0
}
