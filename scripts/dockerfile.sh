#!/bin/sh
# Runs hadolint, which the dev extra brings where there is a wheel of it. `--optional`: elsewhere it is left out.
set -eu
cd "$(dirname "$0")/.."
if ! command -v hadolint >/dev/null && [ "${1:-}" = --optional ]; then
    echo "left out: hadolint is not installed"
    exit 0
fi
exec hadolint --failure-threshold style Dockerfile
