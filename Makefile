# SPDX-License-Identifier: Apache-2.0
# Every target does its own set-up; a second run finds it done.

.PHONY: build frameworks test test-all lint format demo docs wheel clean distclean

build: ; @scripts/setup
frameworks: build ; @scripts/frameworks
test: build ; @scripts/test
test-all: build ; @scripts/test-all
lint: build ; @scripts/lint
format: build ; @scripts/format
demo: build ; @scripts/demo
docs: build ; @scripts/docs
wheel: build ; @scripts/wheel
clean: ; rm -rf build results
distclean: clean ; rm -rf .venv .mpi .frameworks
