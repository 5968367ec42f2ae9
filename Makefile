# Every command of the project. Each command sets up its environment once: you need a clone and a Python.
# ARGS are passed on: make sandbox ARGS="--pods 120 --once", make test ARGS="-k ledger".

.DEFAULT_GOAL := help
.PHONY: help sandbox compose test pytest check lint format bench rows apiserver helm crds reference dashboards pictures docs lock lowest sbom release clean
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
PYTHON ?=
ARGS ?=
PROCESSES ?= 3
ROWS ?=
VERSION ?=
VENV := .venv/bin
DEV := .venv/.installed-dev
SANDBOX := .venv/.installed-sandbox
DOCS := .venv/.installed-docs

help: ## list the targets
	@echo "make TARGET [ARGS=...]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

sandbox: $(SANDBOX) ## run the whole system in processes on this machine: ARGS="--pods 120 --once", ARGS="--api real"
	@$(VENV)/berthmaster sandbox $(ARGS)

compose: ## run the whole system with Docker, filled with pods, jobs and claims: ARGS="down --volumes"
	@scripts/compose.sh $(ARGS)

test: $(DEV) ## run lint and every test; ARGS go to pytest, PROCESSES=0 for -s and --pdb
	@scripts/lint.sh --optional-luacheck
	@$(VENV)/python -m pytest -n $(PROCESSES) $(ARGS)

pytest: $(DEV) ## run a part of the tests, without lint: ARGS="tests/unit/cli", PROCESSES=0 for -s and --pdb
	@$(VENV)/python -m pytest -n $(PROCESSES) $(ARGS)

check: $(DEV) ## run lint, unit tests and one integration test a feature, in some minutes
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

helm: ## build Helm in the cache folder (about 5 minutes, once)
	@tests/helm/build.sh

crds: $(DEV) ## write deploy/crds from the models, and the rules about our kinds in deploy/base
	@$(VENV)/python -m scripts.crds $(ARGS)
	@$(VENV)/python -m scripts.access $(ARGS)
	@$(VENV)/python -m scripts.chart_files $(ARGS)

reference: $(DEV) ## write docs/reference, the tables of docs/events.md and the charts' values and files from their sources
	@$(VENV)/python -m scripts.chart_values $(ARGS)
	@$(VENV)/python -m scripts.chart_files $(ARGS)
	@$(VENV)/python -m scripts.reference $(ARGS)
	@$(VENV)/python -m scripts.event_types $(ARGS)

dashboards: $(DEV) ## write deploy/dashboards from the panels in scripts
	@$(VENV)/python -m scripts.dashboards $(ARGS)

pictures: $(DEV) ## take the pictures in docs/images from a real sandbox; needs Chromium
	@$(VENV)/python -m scripts.pictures

docs: $(DOCS) ## build the documents as a site in build/site; a link or anchor that leads nowhere is an error
	@NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict --quiet $(ARGS)

lock: $(DEV) ## write the versions and hashes of what images install to deploy/image; ARGS=--upgrade takes the newest
	@scripts/lock.sh $(ARGS)

lowest: $(DEV) ## run unit tests with the lowest versions that pyproject.toml allows
	@PYTHON="$(PYTHON)" scripts/lowest.sh $(ARGS)

sbom: $(DEV) ## write the components of the image as CycloneDX to build/sbom.json
	@scripts/sbom.sh

release: $(DEV) helm ## make a release in dist/ and its tag, and publish nothing: VERSION=0.2.0, ARGS=--dry-run
	@$(VENV)/python -m scripts.release $(if $(VERSION),$(VERSION),"") $(ARGS)

clean: ## remove the environment and the caches of tools
	rm -rf .venv .sandbox build berthmaster/build dist *.egg-info berthmaster/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# The development environment includes the others, so it marks all as installed.
$(DEV): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" scripts/environment.sh dev
	@touch $(SANDBOX) $(DOCS)

$(SANDBOX): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" scripts/environment.sh sandbox

$(DOCS): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" scripts/environment.sh docs
