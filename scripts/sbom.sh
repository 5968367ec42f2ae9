#!/bin/sh
# Writes build/sbom.json: the Python distributions of the image, from the versions and hashes that are written down.
# sbom.sh FILE writes FILE instead.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
target=${1:-build/sbom.json}
mkdir -p "$(dirname "$target")"
cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o "$target" deploy/image/flower.txt
echo "sbom: $target. Known faults of what it lists, where PyPI can be reached: pipx run pip-audit -r deploy/image/flower.txt --require-hashes"
