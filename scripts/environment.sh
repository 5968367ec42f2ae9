#!/bin/sh
# environment.sh EXTRA...: creates .venv and installs Berthmaster with its extras, editable. The Makefile calls it once for each
# version of pyproject.toml. PYTHON names an interpreter; without it, the newest suitable one on PATH is used.
set -eu
cd "$(dirname "$0")/.."
suitable='import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))'

find_python() {
    for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3 python}; do
        command -v "$candidate" >/dev/null && "$candidate" -c "$suitable" 2>/dev/null && { command -v "$candidate"; return 0; }
    done
    echo "Berthmaster needs Python 3.11, 3.12 or 3.13 with its venv module, and ${PYTHON:-PATH} has none." >&2
    echo "Debian and Ubuntu: apt-get install python3 python3-venv. macOS: brew install python@3.13." >&2
    echo "An interpreter elsewhere: make PYTHON=/path/to/python3.13 ..." >&2
    return 1
}

# Two concurrent makes must not install into the environment at the same time.
exec 9<pyproject.toml
if command -v flock >/dev/null; then flock 9; fi

if ! .venv/bin/python -c "$suitable" 2>/dev/null; then
    python=$(find_python)
    echo "environment: creating .venv with $python ($("$python" --version)) ..."
    rm -rf .venv
    "$python" -m venv .venv
fi

install() { # a dot for each distribution that pip looks at; its own words only when it fails
    log=.venv/install.log
    printf 'environment: installing berthmaster[%s] into .venv, a minute or two the first time ' "$1"
    { .venv/bin/python -m pip install --disable-pip-version-check --no-input --progress-bar off --editable ./berthmaster --editable ".[$1]" \
        </dev/null 2>&1 && touch ".venv/.installed-$1"; } | tee "$log" |
        while IFS= read -r line; do case $line in Collecting*|Installing*) printf . ;; esac; done
    echo
    grep -q '^Successfully installed' "$log" || { cat "$log" >&2; return 1; }
}

for extra in "$@"; do install "$extra"; done
