# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the other scripts: paths, and how scripts report.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
jobs=$(nproc)
cd "$root"
# CMake and Ninja come from the virtual environment too.
export PATH=$venv/bin:$PATH
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs
# What is installed is built by the compiler of the test presets, under the same name: only then does ccache find its
# objects again. (Python would take x86_64-linux-gnu-g++.)
if command -v gcc >/dev/null && command -v g++ >/dev/null; then
    export CC=${CC:-gcc} CXX=${CXX:-g++}
fi

step() { printf '== %s\n' "$*"; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

part_times=() failed_parts=() skipped_parts=()

# part NAME COMMAND...: runs a part of the tests. If it fails, the next parts run all the same; see finish_parts.
part() {
    local name=$1 begin=$SECONDS status
    shift
    step "$name"
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
    part_times+=("$(printf '%4d:%02d  %s' $(((SECONDS - begin) / 60)) $(((SECONDS - begin) % 60)) "$name")")
    ((status == 0)) || failed_parts+=("$name")
}

# finish_parts: says how long each part took, which were left out and which failed; status 1 if one failed.
finish_parts() {
    step "min:s"
    printf '%s\n' "${part_times[@]}"
    local name
    for name in "${skipped_parts[@]}"; do
        echo "left out: $name"
    done
    for name in "${failed_parts[@]}"; do
        echo "FAILED: $name"
    done
    ((${#failed_parts[@]} == 0)) || exit 1
}

# install_debian_packages NAME...: installs the packages that are missing.
install_debian_packages() {
    if ! command -v dpkg-query >/dev/null; then
        echo "note: this is not Debian or Ubuntu; install the equivalents of: $*"
        return
    fi
    local package missing=()
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        fail "missing packages; install them by: sudo apt-get install ${missing[*]}"
    fi
    step "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update </dev/null
    apt-get -qq install --yes --no-install-recommends "${missing[@]}" </dev/null
}

# cpp_files: prints the sources of C++ and C to format, each followed by a NUL.
cpp_files() {
    find . \( -name build -o -name '.?*' \) -prune -o \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.c' \) -print0
}

# cmake_files, shell_files: the same for CMake, and for shell scripts, most of which have no suffix.
cmake_files() {
    find . \( -name build -o -name '.?*' \) -prune -o \( -name CMakeLists.txt -o -name '*.cmake' \) -print0
}
shell_files() { grep -d skip -lZE '^(#!.*sh|# shellcheck shell=.*)$' .ci/* scripts/* packaging/*/* tests/*/*.sh; }
