#!/bin/sh
# Runs tests with the lowest versions of direct dependencies that both pyproject.toml allow, in an environment of its
# own. Arguments go to pytest; without them, the unit tests run (without models, which use no dependency).
set -eu
cd "$(dirname "$0")/.."
place=build/lowest
uv=$PWD/.venv/bin/uv
"$uv" venv --quiet --clear --python .venv/bin/python "$place"
VIRTUAL_ENV=$PWD/$place
export VIRTUAL_ENV
"$uv" pip install --quiet --resolution lowest-direct --editable ./berthmaster --editable ".[sandbox,tracing]"
# What only tests need, as it is in .venv.
"$uv" pip freeze --quiet --python .venv/bin/python --exclude-editable | grep -iE \
    '^(axe-playwright-python|compose-pydantic|cyclonedx.*|dockerfile-parse|hypothesis|packaging|playwright|promql-parser|psutil|py-spy|pytest.*|ruff|uv)==' \
    >"$place/tests.txt"
"$uv" pip install --quiet -r "$place/tests.txt" --override "$place/tests.txt"
[ $# -gt 0 ] || set -- tests/unit --ignore tests/unit/models --ignore tests/unit/image
exec "$place/bin/python" -m pytest -n 2 -p no:cacheprovider "$@"
