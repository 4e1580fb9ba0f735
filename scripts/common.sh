# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: paths, and how scripts report.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
jobs=$(nproc)
cd "$root"
# CMake and Ninja come from the virtual environment too.
export PATH=$venv/bin:$PATH
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs
# What is installed and what is tested are made of the same objects, in folders of their own.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

step() { printf '== %s\n' "$*"; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
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

# cpp_files: prints the sources to format and to lint, each followed by a NUL.
cpp_files() {
    find . \( -name build -o -name '.?*' \) -prune -o \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' \) -print0
}
