"""What people read about jobs."""

from __future__ import annotations

import orjson
import pytest
from redis import Redis
from typer.testing import CliRunner

from tests.support.jobs.slot_world import SlotWorld
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
    assert [(job["pod"], job["uid"], job["slot"]) for job in listed] == [("pod-a", "a", 1), (None, "", None)]
    assert "three" in said(run, "jobs", POOL, "--ended")
    cells = [line.replace("│", " ").split() for line in said(run, "jobs", POOL).splitlines()]
    assert ["one", "placed", "plan", "pod-a", "1", "5"] in cells
    assert ["two", "waiting", "plan", "5"] in cells


@pytest.mark.row("SL-31")
def test_of_the_jobs_that_have_ended_the_latest_comes_first_and_each_says_when(
    world: SlotWorld, run: CliRunner, redis: Redis
) -> None:
    for name in ("b", "a", "c"):
        world.submit(name)
        world.cancel(name)
    redis.zadd(f"{world.ledger.prefix}ended", {"b": 1_700_000_000_000, "a": 1_700_000_060_000, "c": 1_700_000_030_000})
    told = orjson.loads(said(run, "jobs", POOL, "--ended", "--json"))
    assert [(job["id"], job["ended"]) for job in told] == [
        ("a", "2023-11-14T22:14:20+00:00"),
        ("c", "2023-11-14T22:13:50+00:00"),
        ("b", "2023-11-14T22:13:20+00:00"),
    ]
    assert "2023-11-14 22:14:20Z" in said(run, "jobs", POOL, "--ended")
    assert orjson.loads(said(run, "explain", "job", POOL, "b", "--json"))["ended"] == "2023-11-14T22:13:20+00:00"


@pytest.mark.row("SL-31")
def test_a_job_that_has_ended_has_no_slot(world: SlotWorld, run: CliRunner) -> None:
    world.add("a", layout=("*",))
    world.submit("one")
    world.deliver_all()
    world.ended("a", world.only())
    (ended,) = orjson.loads(said(run, "jobs", POOL, "--ended", "--json"))
    told = orjson.loads(said(run, "explain", "job", POOL, "one", "--json"))
    assert [(job["state"], job["slot"], job["pod"]) for job in (ended, told)] == [("done", None, None)] * 2


@pytest.mark.row("SL-31")
def test_what_a_person_is_to_confirm_is_shown_with_its_place(world: SlotWorld, run: CliRunner) -> None:
    world.add("a")
    world.submit("deploy", "plan", "apply")
    world.deliver_all()
    plan, changes = world.only(), "\n".join(f"change {n}" for n in range(12))
    world.send(world.ledger.finish("deploy", "plan", plan, "succeeded", changes).placed)
    told = said(run, "explain", "job", POOL, "deploy")
    assert f"in slot 1 of pod pod-a, which is reserved until somebody confirms plan {plan}" in told
    assert "    change 0\n" in told
    assert "    change 9\n    ... and 2 more lines\n" in told


@pytest.mark.row("SL-31")
def test_idle_slots_that_do_not_take_a_job_are_told_from_those_that_do(world: SlotWorld, run: CliRunner) -> None:
    world.add("a")
    world.submit("one", "apply")
    world.submit("two", "plan", "apply")
    waits = "waits for a slot that takes plan, apply: 0 before it, 2 slots idle, of which none fit"
    assert waits in said(run, "explain", "job", POOL, "two")


def test_a_serial_key_is_shown_as_it_is(world: SlotWorld, run: CliRunner) -> None:
    world.submit("one", serial_key="[/bold] [red]")
    assert "[/bold] [red]" in said(run, "jobs", POOL)


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
