# SPDX-License-Identifier: Apache-2.0
# Every target installs what it needs, and no more; a second run finds it done.

.PHONY: build frameworks test test-all lint format demo docs wheel clean distclean

build: ; @scripts/setup
demo: build ; @scripts/demo
frameworks: ; @scripts/setup frameworks && scripts/frameworks && scripts/torch-libraries && scripts/jax
test: ; @scripts/setup test && scripts/test
test-all: ; @scripts/setup test research && scripts/test-all
lint: ; @scripts/setup lint && scripts/lint
format: ; @scripts/setup format && scripts/format
docs: ; @scripts/setup docs && scripts/docs
wheel: build ; @scripts/wheel
clean: ; rm -rf build results
distclean: clean ; rm -rf .venv .mpi .frameworks
