#!/bin/sh
# Runs every linter, also after a failure, and ends with the names of those that failed.
# `--optional-luacheck`: linters that are not installed are skipped (see luacheck.sh), and reported.
set -u
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
red=""

check() { # check NAME COMMAND...: silent when it is green
    name=$1; shift
    if output=$("$@" 2>&1); then
        printf '  %-14s ok\n' "$name"
        case $output in *"left out"*) echo "$output" ;; esac
    else
        printf '  %-14s RED\n%s\n' "$name" "$output"
        red="$red $name"
    fi
}

echo "lint:"
check ruff ruff check --quiet .
check format ruff format --check --quiet .
check style python -m scripts.style
check protocols python -m scripts.protocols
check imports lint-imports --no-logo pyproject.toml
check types mypy
check dockerfile scripts/dockerfile.sh ${1:+--optional}
check luacheck scripts/luacheck.sh ${1:+--optional}
check rows python -m scripts.rows --check
check crds python -m scripts.crds --check
check access python -m scripts.access --check
check dashboards python -m scripts.dashboards --check
check chart python -m scripts.chart_values --check
check chart-files python -m scripts.chart_files --check
check reference python -m scripts.reference --check
check events python -m scripts.event_types --check
[ -z "$red" ] || { echo "lint: red:$red" >&2; exit 1; }
