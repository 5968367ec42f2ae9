#!/bin/sh
# Runs hadolint, which the dev extra installs where it has a wheel. `--optional`: a machine without hadolint skips the check.
set -eu
cd "$(dirname "$0")/.."
if ! command -v hadolint >/dev/null && [ "${1:-}" = --optional ]; then
    echo "left out: hadolint is not installed"
    exit 0
fi
exec hadolint --failure-threshold style Dockerfile
