"""The loader of scripts, and the form that every script file has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from berthmaster.redis.scripts import Script, Scripts, script_text
from events.workqueue.queue import LUA
from tests.integration.workqueue.world import EPOCH, OTHER, World, mark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A script that takes in two functions, of which one needs the other."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/sum.lua").write_text("local function sum(a, b) return a + b end\n")
    twice = '--- @include "lib/sum"\nlocal function twice(n) return sum(n, n) end\n'
    (tmp_path / "lib/twice.lua").write_text(twice)
    includes = '--- @include "lib/twice"\n--- @include "lib/sum"\n'
    (tmp_path / "double.lua").write_text(f"{includes}return sum(twice(tonumber(ARGV[1])), 0)\n")
    return tmp_path


@pytest.fixture
def double(redis: Redis, folder: Path) -> Script:
    return Scripts(redis, folder)["double"]


def test_a_file_that_is_included_twice_is_taken_in_once_before_who_needs_it(folder: Path) -> None:
    lines = script_text(folder, "double").splitlines()
    assert [line.partition("(")[0] for line in lines] == ["local function sum", "local function twice", "return sum"]


def test_an_include_that_does_not_exist_is_an_error(folder: Path) -> None:
    (folder / "lib/sum.lua").unlink()
    with pytest.raises(FileNotFoundError, match=r"sum\.lua"):
        script_text(folder, "double")


def test_what_is_included_is_no_script_of_its_own(redis: Redis, folder: Path) -> None:
    with pytest.raises(KeyError):
        Scripts(redis, folder)["lib/sum"]


def test_a_script_is_given_to_a_server_that_does_not_have_it(redis: Redis, double: Script) -> None:
    redis.script_flush()
    assert double([], [4]) == 8
    assert double([], [5]) == 10
    assert redis.script_exists(double.digest) == [True]


def test_a_pipeline_brings_its_script_along(redis: Redis, double: Script) -> None:
    redis.script_flush()
    pipeline = redis.pipeline(transaction=False)
    call = double.batch(pipeline)
    for n in (1, 2, 3):
        call([], [n])
    assert pipeline.execute() == [2, 4, 6]


def test_a_batch_of_marks_is_one_script(world: World) -> None:
    world.queue.marks(EPOCH, [mark(1)])
    world.redis.config_resetstat()
    assert world.queue.marks(EPOCH, [mark(2), mark(3, OTHER), mark(2)]) == [0, 1, 0]
    stats: dict[str, Any] = world.redis.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] == 1
    assert "cmdstat_eval" not in stats
    assert not [name for name in stats if name.startswith("cmdstat_script")]


@pytest.mark.parametrize("path", sorted(LUA.glob("*.lua")), ids=lambda path: path.stem)
def test_every_script_says_what_it_takes_and_gives(path: Path) -> None:
    text = path.read_text()
    header = text[: text.index("]]")]
    assert text.startswith("--[[ ")
    assert all(part in header for part in ("KEYS", "ARGV", "Returns"))
