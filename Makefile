# Ladderlog. `make` alone says what there is.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# Of each Python its own, so that another one makes the .venv anew.
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)
READY := $(VENV)/.ready-$(VERSION)

# For `make run`: your own games and ladders, and ONCE=1 to end after the report.
GAMES ?=
LADDERS ?=
ONCE ?=
RUN_OPTIONS := $(if $(GAMES),--games "$(GAMES)") $(if $(LADDERS),--ladders "$(LADDERS)") $(if $(ONCE),--once)

.DEFAULT_GOAL := help
.PHONY: help setup run test bench soak check docs dist clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with everything in it; PYTHON=python3.13 for another Python

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"Python 3.11 or newer is needed, this is {v[0]}.{v[1]}; say which: make PYTHON=...")'
	$(PYTHON) -m venv $(if $(wildcard $(READY)),,--clear) $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(READY)

run: $(READY) ## Broker, worker and games at work; GAMES=file.jsonl LADDERS=file.toml for yours, ONCE=1 to end
	@$(BIN)/ladderlog run $(RUN_OPTIONS)

test: check ## All checks and tests that take minutes
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not soak"

soak: $(READY) ## The slow proofs
	$(BIN)/python -m pytest -m soak

bench: $(READY) ## Speed, beside baselines measured in the same run
	$(BIN)/python bench/run.py

check: $(READY) ## Format, lint, sizes and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tests/sizes.py
	$(BIN)/mypy

docs: $(READY) ## The pages, in build/docs; open build/docs/index.html
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs auto docs build/docs

dist: $(READY) ## The sdist, and the wheel made from it, in dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation

clean: ## Remove what was made here
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
