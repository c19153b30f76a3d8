# The two commands: `make app` and `make test`. Both need only Python 3.11 or newer, git and make.
# `make help` lists all targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV ?= .venv
HOST ?= 127.0.0.1
PORT ?= 8866

# The interpreter that creates the environment: the first of these that is new enough. Choose another with `make PYTHON=/path/to/python app`.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$name"; break; }; done)

BIN := $(VENV)/bin
# The build tools are pinned like everything else. Torch comes without a local suffix, so a GPU machine gets the CUDA
# build and a machine with its own wheel directory gets that one.
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --build-constraint constraints.txt
INPUTS := pyproject.toml constraints.txt Makefile

.PHONY: help app install test test-install browser compiler lint pins clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

app: $(VENV)/.installed-app  ## create .venv, install, and serve the configurator at http://127.0.0.1:8866
	@exec $(BIN)/dcp-configurator app --host $(HOST) --port $(PORT)

install: $(VENV)/.installed-app  ## create .venv and install, without serving

test: $(VENV)/.installed-dev browser compiler  ## create .venv, install, find or install a browser, run the whole suite
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-install: $(VENV)/.installed-dev  ## create .venv with what the tests and the linters need

browser: $(VENV)/.installed-dev  ## find a Chromium or Chrome, or install one
	@$(BIN)/python tools/find_browser.py --install

compiler:  ## find a C compiler, or install one: tests build a stand-in for the GPU driver's library
	@command -v cc || command -v gcc || command -v clang || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null; } || \
	{ echo "The hardware tests need a C compiler, and none is installed. Install one, for example: sudo apt-get install gcc libc6-dev" >&2; exit 1; }

lint: $(VENV)/.installed-dev  ## ruff, mypy --strict, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

pins: $(VENV)/.installed-dev  ## write constraints.txt anew from what .venv holds
	$(BIN)/python tools/pin_constraints.py

clean:  ## remove .venv and everything that was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache test-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "No Python 3.11 or newer was found on the PATH. Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; fi
	@if ! "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	  echo "$(PYTHON) is $$("$(PYTHON)" --version 2>&1); the configurator needs Python 3.11 or newer. Name another: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; fi
	@if ! "$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null; then \
	  echo "$(PYTHON) has no venv module. On Debian and Ubuntu: apt-get install python3-venv (or python3.11-venv, and so on)." >&2; exit 1; fi
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

# Old pips know neither --group nor --build-constraint, so pip comes first.
$(VENV)/.pip: $(VENV)/.created constraints.txt
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --upgrade pip
	@touch $@

$(VENV)/.installed-app: $(VENV)/.pip $(INPUTS)
	@echo "Installing into $(VENV) (torch is large; a few minutes the first time) ..."
	$(PIP_INSTALL) --editable '.[app,bench]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-app
	$(PIP_INSTALL) --editable '.[app,bench]' --group build --group test --group lint
	@touch $@
