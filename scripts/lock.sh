#!/bin/sh
# Writes deploy/image: every distribution that an image installs, with the hashes of its files. Arguments go to uv:
# `scripts/lock.sh --upgrade` takes the newest versions; without it, a version that still fits stays.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
ours=$(mktemp -d)
trap 'rm -rf "$ours"' EXIT
cp -R berthmaster "$ours/berthmaster"  # a build leaves files beside the source
uv build --quiet --wheel --out-dir "$ours" "$ours/berthmaster"  # the server needs it, in the version that is here
lock() { # lock NAME ARGUMENT...
    name=$1; shift
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        --no-emit-index-url --find-links "$ours" --no-emit-package berthmaster "$@" --output-file "deploy/image/$name.txt"
    echo "deploy/image/$name.txt"
}
lock flower --extra flower pyproject.toml "$@"
lock tracing --extra flower --extra tracing pyproject.toml "$@"
lock sandbox --extra sandbox pyproject.toml "$@"
lock build deploy/image/build.in "$@"
