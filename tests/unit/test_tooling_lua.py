"""The lint of Lua scripts finds what it is for, in small trees; what luacheck reads is what Redis gets."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from berthmaster.redis.scripts import TABLE, script_text
from scripts import lua_expanded, lua_includes
from scripts.sources import TREES
from tests.unit.test_tooling_style import written

LUA = "workers/stores/lua"
KEYS = "-- The keys.\nlocal call, ALL = redis.call, KEYS[1] .. 'all'\n"
COUNT = "-- Counts.\n--- @include \"lib/keys\"\nlocal function count() return call('HLEN', ALL) end\n"
SCRIPT = '-- Tells how many.\n--- @include "lib/count"\nlocal limit = unpack(ARGV)\nreturn { count(), limit }\n'


def tree(root: Path, **changed: str) -> list[str]:
    """What the lint says of a script that includes a function, which includes keys; some of their texts changed."""
    for name, text in {"lib/keys": KEYS, "lib/count": COUNT, "tell": SCRIPT, **changed}.items():
        written(root, f"{LUA}/{name}.lua", text)
    return list(lua_includes.offences(root))


def test_a_script_and_what_it_includes_pass(tmp_path: Path) -> None:
    assert tree(tmp_path) == []


@pytest.mark.parametrize(
    "constant",
    [
        "local FIELDS = { 'a', b = 'c' }",
        "local FIRST, SECOND = unpack(KEYS)",
        "local HALF = not (1 + 2) / 2 and nil or [[text]]",
        "local PLACES = KEYS[2] .. 'places'\nlocal OTHERS = PLACES .. ':others'",
    ],
)
def test_a_shared_file_may_define_constants(tmp_path: Path, constant: str) -> None:
    assert tree(tmp_path, **{"lib/keys": f"{KEYS}{constant}\n"}) == []


@pytest.mark.parametrize(
    "statement",
    [
        "redis.call('DEL', ALL)",
        "return ALL",
        "if ALL then ALL = nil end",
        "held = {}",
        "function count() end",
        "local held",
        "local held = redis.call('GET', ALL)",
        "local held = redis.call 'TIME'",
        "local held = cjson.decode { ALL }",
        "local held = (redis.call)(ALL)",
        "local held = unpack(KEYS, 2)",
        "local held = function() end",
        "local held = 1 return held",
        "local held = ALL call('DEL', held)",
    ],
)
def test_a_shared_file_that_does_something_is_a_fault(tmp_path: Path, statement: str) -> None:
    faults = [fault for fault in tree(tmp_path, **{"lib/keys": f"{KEYS}{statement}\n"}) if "does something" in fault]
    assert [fault.partition(":")[0] for fault in faults] == [f"{LUA}/lib/keys.lua"]


def test_a_fault_shows_where_something_is_done(tmp_path: Path) -> None:
    faults = tree(tmp_path, **{"lib/keys": f"{KEYS}local NONE = 0\nreturn NONE\n"})
    assert faults == [
        f"{LUA}/lib/keys.lua: does something: `0 return NONE`; it may only define functions and constants"
    ]


def test_what_a_function_does_is_its_own_affair(tmp_path: Path) -> None:
    body = "if call then for _, x in ipairs(ALL) do call(x) end end\n  repeat call() until true\n  return call"
    assert tree(tmp_path, **{"lib/count": COUNT.replace("return call", body)}) == []


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"lib/count": COUNT.replace("ALL)", "ARGV[1] .. ALL)")}, "lib/count.lua: reads ARGV"),
        ({"lib/count": COUNT.replace("ion count", "ion sum"), "tell": SCRIPT.replace("{ count", "{ sum")}, "lib/count"),
        ({"tell": SCRIPT.replace("lib/count", "lib/sum")}, "tell.lua: includes lib/sum, which does not exist"),
        ({"tell": SCRIPT.replace("count(),", "")}, "tell.lua: includes lib/count and does not use it"),
        ({"tell": SCRIPT.replace("{ count", "{ limit.count")}, "tell.lua: includes lib/count and does not use it"),
        ({"tell": SCRIPT.replace("count()", "count = 1")}, "tell.lua: includes lib/count and does not use it"),
        ({"tell": SCRIPT.replace("{ count()", "{ count(), ALL")}, "tell.lua: uses `ALL` and does not include lib/keys"),
        (
            {"lib/count": COUNT.replace('--- @include "lib/keys"\n', "")},
            "lib/count.lua: uses `ALL` and does not include",
        ),
        ({"lib/sum": "-- Adds.\nlocal function sum() end\n"}, "lib/sum.lua: nobody includes it"),
        ({"tell": SCRIPT.replace("---", "--")}, "tell.lua: has an include that is not read"),
        ({"tell": SCRIPT.replace('count"', 'count" ')}, "tell.lua: has an include that is not read"),
        ({"lib/count": COUNT.replace("return", "ALL = 1 return")}, "lib/count.lua: changes the constant ALL"),
    ],
)
def test_each_other_fault_is_found_where_it_is(tmp_path: Path, changed: dict[str, str], fault: str) -> None:
    assert [said for said in tree(tmp_path, **changed) if said.startswith(f"{LUA}/{fault}")]


def test_a_name_that_a_file_makes_its_own_needs_no_include(tmp_path: Path) -> None:
    own = "local function twice(count) return 2 * count end\nfor ALL = 1, 2 do twice(ALL) end\nlocal x = { ALL = 1 }\n"
    assert tree(tmp_path, tell=SCRIPT.replace("local limit", f"{own}local limit")) == []


def test_every_script_is_checked_as_redis_gets_it() -> None:
    root = lua_expanded.REPOSITORY
    paths = {path for tree in TREES for path in root.glob(f"{tree}/**/lua/*.lua") if "build" not in path.parts}
    tables: dict[str, str] = defaultdict(lambda: "{}")
    found = lua_expanded.scripts(root)
    assert {root / path for path in found} >= paths
    for path in paths:
        text = "".join(line.text for line in found[path.relative_to(root).as_posix()])
        assert TABLE.sub("{}", text) == script_text(path.parent, path.stem, tables)


def test_what_luacheck_says_is_told_once_at_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A luacheck that faults the line of every script on which `HLEN` is."""
    tree(tmp_path, other=SCRIPT)
    (tmp_path / ".luacheckrc").touch()
    program = (
        "import sys\n"
        "for path in (name for name in sys.argv if name.endswith('.lua')):\n"
        "    for number, line in enumerate(open(path), start=1):\n"
        "        if 'HLEN' in line: print(f'{path}:{number}:7: (W211) unused')\n"
        "sys.exit(1)\n"
    )
    assert lua_expanded.check([sys.executable, "-c", program], tmp_path) == 1
    assert capsys.readouterr().out == f"{LUA}/lib/count.lua:3:7: (W211) unused\n"
    assert lua_expanded.check([sys.executable, "-c", "pass"], tmp_path) == 0
    assert lua_expanded.check([sys.executable, "-c", "print('no luacheck'); exit(2)"], tmp_path) == 2
    assert capsys.readouterr().out == "no luacheck\n\n"
