# Everything starts from two commands: `make demo` and `make test`. Both set themselves up in
# .venv on a machine that has only Python 3.11, make and git.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

# Azurite, a real blob server, is an npm package.
TESTS  := PATH="$(CURDIR)/$(VENV)/node/node_modules/.bin:$$PATH" $(BIN)/python -m pytest

.PHONY: demo demo-pr test test-all format lint clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      train the demonstration on this machine: two files in, models:/digits-ddp/1 out"
	@echo "make demo-pr   the whole pull-request loop, with the real workflow files against a fake GitHub"
	@echo "make test      every check and test, as CI runs them"
	@echo "make test-all  the long suites too (kill points, simulations)"
	@echo "make format    mend layout and imports"

$(VENV)/made:
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=/path/to/it")'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/train: $(VENV)/made pyproject.toml constraints.txt
	@$(BIN)/python scripts/install_torch.py
	@$(PIP) --editable '.[train]'
	@touch $@

$(VENV)/dev: $(VENV)/train
	@$(PIP) --editable '.[train,azure,dev]'
	@npm install --silent --no-fund --no-audit --prefix $(VENV)/node azurite@3.37.0 \
	  || echo "npm brings no azurite here: the tests against a real blob server will be skipped."
	@touch $@

demo: $(VENV)/train
	@scripts/demo $(BIN)

demo-pr: $(VENV)/dev
	@$(BIN)/python scripts/demo_pr.py

lint: $(VENV)/dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

test: lint
	@$(BIN)/coverage erase
	@$(TESTS) --cov --cov-report=term -m "not exhaustive" -n 2 --dist loadfile

# TensorFlow is for one test, and has no build for every machine; without it the test says so.
test-all: lint
	-@$(PIP) tensorflow-cpu
	@HYPOTHESIS_PROFILE=exploring $(TESTS) --timeout 1800

format: $(VENV)/dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .traingate
