# Every command of the project. Each command sets up its environment once: you need a clone and a Python.
# ARGS are passed on: make sandbox ARGS="--pods 120 --once", make test ARGS="-k ledger".

.DEFAULT_GOAL := help
.PHONY: help sandbox test check lint format bench rows apiserver crds reference dashboards sbom clean
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
PYTHON ?=
ARGS ?=
PROCESSES ?= 2
ROWS ?=
VENV := .venv/bin
DEV := .venv/.installed-dev
SANDBOX := .venv/.installed-sandbox

help: ## list the targets
	@echo "make TARGET [ARGS=...]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

sandbox: $(SANDBOX) ## run the whole system in processes on this machine: ARGS="--pods 120 --once", ARGS="--api real"
	@$(VENV)/berthmaster sandbox $(ARGS)

test: $(DEV) ## run lint and every test; ARGS go to pytest, PROCESSES=0 for -s and --pdb
	@scripts/lint.sh --optional-luacheck
	@$(VENV)/python -m pytest -n $(PROCESSES) $(ARGS)

check: $(DEV) ## run lint, unit tests and one integration test a feature, in about two minutes
	@scripts/lint.sh --optional-luacheck
	@$(VENV)/python -m pytest -n $(PROCESSES) --ignore tests/unit/models --ignore tests/unit/image tests/unit @tests/check.txt $(ARGS)

lint: $(DEV) ## run ruff, style, rules of protocols, import contracts, mypy, luacheck, checklist rows, generated files
	@scripts/lint.sh

format: $(DEV) ## sort imports and format the code
	@$(VENV)/ruff check --quiet --select I --fix . && $(VENV)/ruff format --quiet .

bench: $(DEV) ## measure throughput and latency, as ratios within one run
	@$(VENV)/python -m tests.bench $(ARGS)

rows: $(DEV) ## list the checklist rows with and without a test: ROWS="EV AL", ARGS=--json
	@$(VENV)/python -m scripts.rows $(ROWS) $(ARGS)

apiserver: ## build a real Kubernetes API server in the cache folder (about 14 minutes, once)
	@tests/apiserver/build.sh

crds: $(DEV) ## write deploy/crds from the models, and the rules about our kinds in deploy/base
	@$(VENV)/python -m scripts.crds $(ARGS)
	@$(VENV)/python -m scripts.access $(ARGS)

reference: $(DEV) ## write docs/reference from the models
	@$(VENV)/python -m scripts.reference $(ARGS)

dashboards: $(DEV) ## write deploy/dashboards from the panels in scripts
	@$(VENV)/python -m scripts.dashboards $(ARGS)

sbom: $(DEV) ## write the components of the environment as CycloneDX to build/sbom.json
	@scripts/sbom.sh

clean: ## remove the environment and the caches of tools
	rm -rf .venv .sandbox build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# The development environment includes the sandbox's, so it marks both as installed.
$(DEV): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" scripts/environment.sh dev
	@touch $(SANDBOX)

$(SANDBOX): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" scripts/environment.sh sandbox
