"""What people read about jobs."""

from __future__ import annotations

import re

import orjson
import pytest
from redis import Redis
from typer.testing import CliRunner

from tests.support.jobs.slot_world import SlotWorld
from workers.cli.main import app
from workers.cli.slots_grid import wrong_jobs
from workers.stores.pool_names import PodPoolNames

POOL = "ci/runners"
HOUR_MS = 3_600_000


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
def test_a_pool_without_jobs_says_so_instead_of_an_empty_table(world: SlotWorld, run: CliRunner) -> None:
    world.add("a", layout=("*",))
    assert said(run, "jobs", POOL) == f"{POOL} has no jobs that wait or run; --ended lists those that have ended\n"
    assert said(run, "jobs", POOL, "--ended") == f"{POOL} has no jobs\n"
    assert orjson.loads(said(run, "jobs", POOL, "--json")) == []


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
    PodPoolNames(world.ledger.redis).add(POOL)
    missing = run.invoke(app, ["explain", "job", POOL, "nine"])
    assert (missing.exit_code, "knows no job nine" in missing.output) == (1, True)
    undecided = run.invoke(app, ["explain", "pod-pool", POOL])
    assert (undecided.exit_code, "nothing was decided" in undecided.output) == (1, True)
    listed = run.invoke(app, ["jobs", "ci/nope"])
    assert (listed.exit_code, listed.stdout, "no PodPool ci/nope" in listed.stderr) == (1, "", True)
    assert run.invoke(app, ["jobs", "runners"]).exit_code == 2


@pytest.mark.row("SL-32")
@pytest.mark.parametrize(
    "command",
    [
        "jobs ci/nope",
        "logs ci/nope j",
        "confirm ci/nope j 1-1",
        "cancel ci/nope j",
        "explain job ci/nope j",
        "explain pod-pool ci/nope",
    ],
)
def test_a_pool_that_nobody_knows_is_said_by_each_command(run: CliRunner, command: str) -> None:
    done = run.invoke(app, command.split())
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "there is no PodPool ci/nope: no worker has seen one of that name, and it has no jobs\n"


@pytest.mark.row("SL-33")
def test_the_plan_that_waits_is_in_the_table_and_named_by_a_confirm_without_one(
    world: SlotWorld, run: CliRunner
) -> None:
    world.add("a")
    plan = world.planned("deploy")
    world.submit("next")
    table = said(run, "jobs", POOL)
    (row,) = (line for line in table.splitlines() if " deploy " in line)
    assert plan in row
    unnamed = run.invoke(app, ["confirm", POOL, "deploy"])
    assert (unnamed.exit_code, unnamed.stdout) == (2, "")
    assert unnamed.stderr.splitlines() == [
        f"deploy: name the plan that you have reviewed. Plan {plan} waits",
        f"  berthmaster explain job {POOL} deploy   # shows it",
        f"  berthmaster confirm {POOL} deploy {plan}",
    ]
    assert world.record("deploy").plan == plan
    other = run.invoke(app, ["confirm", POOL, "next"])
    assert (other.exit_code, other.stderr) == (1, "next: it waits for no confirmation: it is placed\n")


@pytest.mark.row("SD-34")
def test_the_limit_of_each_job_is_shown_and_until_when(world: SlotWorld, run: CliRunner) -> None:
    world.add("a", layout=("*", "*"))
    world.planned("kept", run_ms=HOUR_MS)
    world.submit("runs", "apply", run_ms=2 * HOUR_MS)
    world.deliver_all()
    world.submit("waits", queue_ms=HOUR_MS)
    world.submit("free")
    listed = {job["id"]: job for job in orjson.loads(said(run, "jobs", POOL, "--json"))}
    limits = {name: (job["limit"], job["deadline"] is not None) for name, job in listed.items()}
    assert limits == {
        "kept": ("reservation", True),
        "runs": ("run", True),
        "waits": ("queue", True),
        "free": (None, False),
    }
    assert (listed["runs"]["run_ms"], listed["runs"]["queue_ms"]) == (2 * HOUR_MS, None)
    row = next(line for line in said(run, "jobs", POOL).splitlines() if "waits" in line)
    assert f"queue {listed['waits']['deadline'][:10]} " in row
    told = orjson.loads(said(run, "explain", "job", POOL, "runs", "--json"))
    assert (told["limit"], told["deadline"]) == ("run", listed["runs"]["deadline"])
    assert re.search(r"; its run_timeout is over in (2 h|1 h .*)$", told["why"])
    assert re.search(r"slots idle; its queue_timeout is over in ", said(run, "explain", "job", POOL, "waits"))
    assert re.search(r"time is up; its reservationTTL is over in ", said(run, "explain", "job", POOL, "kept"))
    assert "_timeout" not in said(run, "explain", "job", POOL, "free")


@pytest.mark.row("SD-34")
def test_a_job_over_its_time_says_which_limit_has_ended_it(world: SlotWorld, run: CliRunner) -> None:
    world.submit("queued", queue_ms=0)
    world.sweep()
    world.add("a", layout=("*",))
    world.submit("runs", run_ms=0)
    world.deliver_all()
    world.sweep()
    waits = "its runner has been asked to stop it, because its run_timeout of 0 s is over"
    assert waits in said(run, "explain", "job", POOL, "runs")
    world.send(world.ledger.finish("runs", "plan", world.only(), "cancelled", "the process was ended").placed)
    assert "timed_out: its queue_timeout of 0 s was over: no result" in said(run, "explain", "job", POOL, "queued")
    assert "timed_out: its run_timeout of 0 s was over: the process was ended" in said(
        run, "explain", "job", POOL, "runs"
    )
    ended = {job["id"]: job["limit"] for job in orjson.loads(said(run, "jobs", POOL, "--ended", "--json"))}
    assert ended == {"queued": "queue", "runs": "run"}
    world.runners.clear()


@pytest.mark.row("SD-34")
def test_a_runner_that_does_not_stop_a_job_is_named_with_the_way_out(
    world: SlotWorld, run: CliRunner, redis: Redis
) -> None:
    world.add("a", layout=("*",))
    world.submit("hangs")
    world.deliver_all()
    world.cancel("hangs")
    assert "its runner has been asked to stop it\n" in said(run, "explain", "job", POOL, "hangs")
    assert wrong_jobs(redis, POOL) == []
    redis.zincrby(f"{world.ledger.prefix}stopping", -600_000, "hangs")
    way_out = re.compile(
        r"its runner was asked 1\d min( \d+ s)? ago to stop it and has not: delete pod pod-a to end it"
    )
    assert way_out.search(said(run, "explain", "job", POOL, "hangs"))
    (problem,) = wrong_jobs(redis, POOL)
    assert problem.startswith("job hangs: ")
    assert way_out.search(problem)
    world.kill("a")
    assert (world.record("hangs").outcome, wrong_jobs(redis, POOL)) == ("cancelled", [])
