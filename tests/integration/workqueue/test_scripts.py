"""The loader of scripts, and the form that every script file has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from berthmaster.redis.scripts import Script, Scripts
from events.workqueue.queue import LUA
from tests.integration.workqueue.world import EPOCH, World, mark


@pytest.fixture
def double(redis: Redis, tmp_path: Path) -> Script:
    (tmp_path / "head.lua").write_text("local function twice(n) return n * 2 end\n")
    (tmp_path / "double.lua").write_text("return twice(tonumber(ARGV[1]))\n")
    return Scripts(redis, tmp_path)["double"]


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


def test_a_batch_of_marks_is_one_request_of_evals_alone(world: World) -> None:
    world.redis.config_resetstat()
    world.queue.marks(EPOCH, [mark(1), mark(2), mark(3)])
    stats: dict[str, Any] = world.redis.info("commandstats")
    assert stats["cmdstat_eval"]["calls"] == 1
    assert stats["cmdstat_evalsha"]["calls"] == 2
    assert not [name for name in stats if name.startswith("cmdstat_script")]


@pytest.mark.parametrize("path", sorted(LUA.glob("*.lua")), ids=lambda path: path.stem)
def test_every_script_is_short_and_says_what_it_takes_and_gives(path: Path) -> None:
    text = path.read_text()
    header = text[: text.index("]]")]
    assert text.startswith("--[[ ")
    assert len(text.splitlines()) <= 60
    assert "KEYS" in header
    assert path.stem == "head" or ("ARGV" in header and "Returns" in header)
