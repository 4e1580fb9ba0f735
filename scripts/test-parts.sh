# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # used by, and set by, what sources it
# Read by scripts/test and scripts/test-all, after common.sh: how a part of the tests is run.

# The tests of scripts/test-all: markers of pytest, explained in pyproject.toml.
rest_markers="long or frameworks or packages"

# The thread sanitizer of older compilers does not know every layout that the kernel may choose at random.
fixed_layout=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
    fixed_layout=(setarch "$(uname -m)" -R)
fi

# Most tests wait: for ranks that start, for links, for time to pass. So more of them run at once than there are cores.
# Python tests have limits of time, which a crowded machine may exceed.
at_once=$((jobs * 5 / 2))
python_at_once=$((jobs * 3 / 2 < 8 ? jobs * 3 / 2 : 8))

# build PRESET
build() {
    cmake --preset "$1" >/dev/null
    cmake --build --preset "$1" -- -j "$jobs" --quiet
}

# run_ctest PRESET: a test preset.
run_ctest() { "${fixed_layout[@]}" ctest --preset "$1" -j "$at_once" --progress; }

# build_and_test PRESET [TEST_PRESET]
build_and_test() {
    build "$1"
    run_ctest "${2:-$1}"
}

# run_pytest MARKERS [FOLDER...]: whole files at a time, whose tests share programs, labs and browsers.
run_pytest() {
    local markers=$1
    shift
    "$venv/bin/python" -m pytest -q -p no:cacheprovider -m "$markers" --numprocesses "$python_at_once" --dist loadfile "$@"
}

# run_pytest_alone MARKERS [FOLDER...]: nothing beside them.
run_pytest_alone() {
    local markers=$1
    shift
    "$venv/bin/python" -m pytest -q -p no:cacheprovider -m "$markers" "$@"
}
