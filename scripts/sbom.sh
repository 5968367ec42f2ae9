#!/bin/sh
# Writes build/sbom.json. The tool has an environment of its own, so that the list does not contain the tool.
set -eu
cd "$(dirname "$0")/.."
tool=.venv/sbom
if ! [ -x "$tool/bin/cyclonedx-py" ]; then
    .venv/bin/python -m venv "$tool"
    "$tool/bin/pip" install --quiet --disable-pip-version-check "cyclonedx-bom>=7,<8"
fi
mkdir -p build
"$tool/bin/cyclonedx-py" environment --pyproject pyproject.toml --output-reproducible -o build/sbom.json .venv/bin/python
echo "sbom: build/sbom.json. Known faults of what it lists, where PyPI can be reached: pipx run pip-audit"
