#!/bin/sh
# compose.sh [ARGUMENTS]: runs compose/compose.yaml with Docker; without arguments `up --build`. Chooses the passwords in
# compose/.env, which Docker reads, the first time.
set -eu
cd "$(dirname "$0")/.."
secret() { LC_ALL=C tr -dc 'a-z0-9' </dev/urandom | head -c "$1"; }

if ! docker compose version >/dev/null 2>&1; then
    echo "make compose needs Docker with Compose 2, and 'docker compose version' fails here: install Compose's plugin of Docker," \
        "or run 'make sandbox', which needs neither" >&2
    exit 1
fi
if [ ! -e compose/.env ]; then
    umask 077
    printf 'REDIS_PASSWORD=%s\nFLOWER_BASIC_AUTH=people:%s\nGRAFANA_PASSWORD=%s\n' \
        "$(secret 32)" "$(secret 16)" "$(secret 16)" >compose/.env
fi
[ $# -gt 0 ] || set -- up --build
exec docker compose -f compose/compose.yaml "$@"
