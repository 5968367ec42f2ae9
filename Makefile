# Every command of the project. Each sets up what it needs, once: a fresh clone and a Python are enough to begin.
# ARGS passes through: make sandbox ARGS="--pods 120 --once", make test ARGS="-k ledger".

.DEFAULT_GOAL := help
.PHONY: help sandbox test lint format bench rows apiserver crds reference dashboards sbom clean
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
PYTHON ?=
ARGS ?=
PROCESSES ?= 2
ROWS ?=
VENV := .venv/bin
DEV := .venv/.installed-dev
SANDBOX := .venv/.installed-sandbox

help: ## this list
	@echo "make TARGET [ARGS=...]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

sandbox: $(SANDBOX) ## the whole system in processes on this machine: ARGS="--pods 120 --once", ARGS="--api real"
	@$(VENV)/berthmaster sandbox $(ARGS)

test: $(DEV) ## lint and every test; ARGS go to pytest, PROCESSES=0 for -s and --pdb
	@scripts/lint.sh --optional-luacheck
	@$(VENV)/python -m pytest -n $(PROCESSES) $(ARGS)

lint: $(DEV) ## ruff, style, import contracts, mypy, luacheck, checklist rows, generated files
	@scripts/lint.sh

format: $(DEV) ## sort imports and format, as lint wants it
	@$(VENV)/ruff check --quiet --select I --fix . && $(VENV)/ruff format --quiet .

bench: $(DEV) ## the budgets, as ratios measured in one run
	@$(VENV)/python -m tests.bench $(ARGS)

rows: $(DEV) ## the checklist rows with and without a test: ROWS="EV AL", ARGS=--json
	@$(VENV)/python -m scripts.rows $(ROWS) $(ARGS)

apiserver: ## build the real Kubernetes API server into the cache folder (about 14 minutes, once)
	@tests/apiserver/build.sh

crds: $(DEV) ## write deploy/crds from the models
	@$(VENV)/python -m scripts.crds $(ARGS)

reference: $(DEV) ## write docs/reference from the models
	@$(VENV)/python -m scripts.reference $(ARGS)

dashboards: $(DEV) ## write deploy/dashboards from their panels
	@$(VENV)/python -m scripts.dashboards $(ARGS)

sbom: $(DEV) ## what the environment consists of, as CycloneDX, in build/sbom.json
	@scripts/sbom.sh

clean: ## remove the environment and what tools have left
	rm -rf .venv .sandbox build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# An environment with everything serves the sandbox as well, so the larger one marks both.
$(DEV): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" scripts/environment.sh dev
	@touch $(SANDBOX)

$(SANDBOX): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" scripts/environment.sh sandbox
