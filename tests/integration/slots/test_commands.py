"""What people read about jobs."""

from __future__ import annotations

import orjson
import pytest
from typer.testing import CliRunner

from tests.support.slot_world import SlotWorld
from workers.cli.main import app

POOL = "ci/runners"


@pytest.fixture
def run(redis_url: str) -> CliRunner:
    return CliRunner(env={"BERTHMASTER_CLUSTER": "test", "BERTHMASTER_REDIS__URL": redis_url})


def said(run: CliRunner, *words: str) -> str:
    result = run.invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.row("SL-31")
def test_jobs_are_listed_and_ended_ones_when_asked_for(world: SlotWorld, run: CliRunner) -> None:
    world.add("a", layout=("*",))
    world.submit("one")
    world.submit("two")
    world.submit("three")
    world.cancel("three")
    listed = orjson.loads(said(run, "jobs", POOL, "--json"))
    assert [(job["id"], job["state"]) for job in listed] == [("one", "placed"), ("two", "waiting")]
    assert "three" in said(run, "jobs", POOL, "--ended")


def test_a_job_says_what_it_waits_for(world: SlotWorld, run: CliRunner) -> None:
    world.add("a", layout=("*", "*"))
    world.submit("one", "apply", serial_key="w")
    world.submit("two", "apply", serial_key="w")
    world.submit("three", "build")
    world.submit("four", "build")
    assert "waits for serial key w, which one has; 0 before it" in said(run, "explain", "job", POOL, "two")
    assert "waits for a slot that takes build: 0 before it, 0 slots idle" in said(run, "explain", "job", POOL, "four")
    assert "its runner has not started it yet" in said(run, "explain", "job", POOL, "one")


def test_what_is_not_there_is_said(world: SlotWorld, run: CliRunner) -> None:
    missing = run.invoke(app, ["explain", "job", POOL, "nine"])
    assert (missing.exit_code, "knows no job nine" in missing.output) == (1, True)
    for kind in ("pod-pool", "pool"):
        undecided = run.invoke(app, ["explain", kind, POOL])
        assert (undecided.exit_code, "nothing was decided" in undecided.output) == (1, True)
    listed = run.invoke(app, ["jobs", "ci/nope"])
    assert (listed.exit_code, listed.stdout, "no PodPool ci/nope" in listed.stderr) == (1, "", True)
    assert run.invoke(app, ["jobs", "runners"]).exit_code == 2
