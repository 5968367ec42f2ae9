#!/bin/sh
# Runs luacheck on every Lua script, with its includes (lua_expanded.py). Without a luacheck on PATH, Debian and its
# derivatives get the distribution's package, unpacked into the user's cache folder: that needs no root and installs
# nothing on the machine. With `--optional`, a machine with neither skips the check and reports it, unless
# BERTHMASTER_REQUIRE_LUACHECK=1.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
home="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/berthmaster/luacheck"
way_out="install luacheck (Debian: apt-get install lua-check; macOS: brew install luacheck)"

own_lists() { # apt with an index of its own: a fresh machine has none, and only root may fetch the system's
    apt-get -qq -o APT::Sandbox::User=root -o "Dir::State=$work/apt" -o "Dir::State::Lists=$work/apt/lists" \
        -o "Dir::Cache=$work/apt" -o Dir::State::Status=/var/lib/dpkg/status "$@"
}

fetch() { # luacheck and its interpreter, then what a slim machine may lack of that interpreter's libraries
    for apt in "apt-get -qq -o APT::Sandbox::User=root" own_lists; do
        [ "$apt" != own_lists ] || own_lists update || return 1
        $apt download lua-check lua5.1 lua-argparse lua-filesystem || continue
        for library in libreadline8 libreadline8t64 libtinfo6; do $apt download "$library" 2>/dev/null || true; done
        return 0
    done
    return 1
}

unpack() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    echo "luacheck: fetching Debian's package into $home ..." >&2
    mkdir -p "$home" && work=$(mktemp -d "$home/part.XXXXXX") || return 1
    mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/debs"
    (cd "$work/debs" && fetch >&2) || { rm -rf "$work"; return 1; }
    for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/root" || return 1; done
    rm -rf "$home/root" && mv "$work/root" "$home/root" && rm -rf "$work" # in one step: others may look at the same time
}

unpacked() { # unpacked COMMAND...: runs the command with the unpacked luacheck as its last words
    root="$home/root/usr"
    lib=$(dirname "$(find "$root/lib" -path '*/lua/5.1/lfs.so')")
    "$@" env LUA_PATH="$root/share/lua/5.1/?.lua;$root/share/lua/5.1/?/init.lua" LUA_CPATH="$lib/?.so" \
        LD_LIBRARY_PATH="${lib%/lua/5.1}:$(echo "$home"/root/lib/*-linux-gnu*)" \
        "$root/bin/lua5.1" "$root/bin/luacheck"
}

works() { unpacked sh -c '"$@" --version' sh >/dev/null 2>&1; }

if command -v luacheck >/dev/null; then
    exec python -m scripts.lua_expanded luacheck
elif works || { unpack && works; }; then
    unpacked python -m scripts.lua_expanded
elif [ "${1:-}" = "--optional" ] && [ "${BERTHMASTER_REQUIRE_LUACHECK:-}" != 1 ]; then
    echo "luacheck: left out, the Lua scripts were not checked: $way_out" >&2
else
    echo "luacheck: not found: $way_out" >&2
    exit 1
fi
