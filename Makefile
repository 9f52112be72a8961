# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# Doors to the scripts. Everything is safe to repeat; CMake alone is enough for C++ users.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build demo test test-long docs format tidy clean

# Lets ccache share objects between build folders of this tree.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

help:  ## Print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## Install what is missing: system packages, a virtual environment in .venv
	@scripts/setup

build: setup  ## Build everything (release); .venv gets the unisono command and module
	@scripts/build

# Frameworks download while the package compiles; nothing is built that the demo does not use.
demo:  ## Two local ranks train a small network through unisono
	@scripts/setup --first
	@scripts/setup --rest & rest=$$!; scripts/build --package; built=$$?; wait $$rest; exit $$built
	@scripts/demo

test:  ## Every test this machine can run; ends with "N passed, N failed, N skipped"
	@scripts/setup --tests --first
	@scripts/test

test-long:  ## The same with all sanitisers on everything, long fuzzing, and the long soak and kill tests
	@scripts/setup --tests --first
	@scripts/test --long

docs: build  ## Write the generated parts of docs/OPTIONS.md and docs/STATISTICS.md
	@UNISONO_UPDATE_DOCS=1 build/release/src/model_test --gtest_brief=1 --gtest_filter='OptionTable.*'
	@UNISONO_UPDATE_DOCS=1 build/release/src/observe_test --gtest_brief=1 --gtest_filter='Statistics.*'

format:  ## Format all C++ (needs clang-format)
	@git ls-files -co --exclude-standard '*.cpp' '*.hpp' '*.h' | xargs clang-format -i

tidy: setup  ## Run clang-tidy over src (needs clang-tidy)
	@cmake --preset debug >/dev/null
	@git ls-files -co --exclude-standard 'src/*.cpp' | xargs -P $$(nproc) -n 4 clang-tidy --quiet -p build/debug

clean:  ## Remove what was built; .venv stays
	rm -rf build dist
