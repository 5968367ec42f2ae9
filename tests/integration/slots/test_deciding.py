"""`berthmaster confirm` and `berthmaster cancel`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import orjson
import pytest
from redis import Redis
from typer.testing import CliRunner

from berthmaster import routing
from berthmaster.client import Fleet, Request
from compose.sandbox.free_ports import free_port
from tests.support.jobs.jobs_desk import JobsDesk
from tests.support.jobs.sent_tasks import sent_tasks
from tests.support.jobs.slot_world import SlotWorld
from tests.support.waiting import eventually
from workers.cli.main import app
from workers.stores.pool_names import PodPoolNames

POOL = "ci/runners"
DEPLOY = Request("deploy", POOL, "work", phases=("plan", "apply"))


@pytest.fixture
def run(redis_url: str) -> CliRunner:
    return CliRunner(env={"BERTHMASTER_CLUSTER": "test", "BERTHMASTER_REDIS__URL": redis_url})


@pytest.fixture
def desk(world: SlotWorld) -> Iterator[JobsDesk]:
    world.add("a")
    with JobsDesk(world) as made:
        yield made


@pytest.fixture
def plan(desk: JobsDesk, redis_url: str) -> str:
    """Of a job that waits for somebody to confirm it."""
    del desk
    with Fleet(redis_url) as fleet:
        return fleet.run(DEPLOY, timedelta(seconds=20)).plan


@pytest.mark.row("SL-16", "SL-31")
def test_a_plan_that_was_seen_is_confirmed_and_its_apply_runs(world: SlotWorld, run: CliRunner, plan: str) -> None:
    tried = run.invoke(app, ["confirm", POOL, "deploy", plan, "--dry-run"])
    assert (tried.exit_code, tried.output) == (0, "deploy: could be done\n")
    assert world.effects == {"deploy plan": 1}
    done = run.invoke(app, ["confirm", POOL, "deploy", plan])
    assert (done.exit_code, done.output.startswith("deploy: it is ")) == (0, True), done.output
    eventually(lambda: world.effects == {"deploy plan": 1, "deploy apply": 1})
    again = run.invoke(app, ["confirm", POOL, "deploy", plan])
    assert (again.exit_code, "it has ended: succeeded" in again.stderr) == (1, True)


@pytest.mark.row("UI-12")
@pytest.mark.parametrize(("options", "person"), [([], "olga"), (["--as", "alice"], "alice")])
def test_the_job_keeps_the_name_of_who_has_confirmed_it(
    options: list[str], person: str, world: SlotWorld, run: CliRunner, plan: str
) -> None:
    done = run.invoke(app, ["confirm", POOL, "deploy", plan, *options], env={"LOGNAME": "olga"})
    assert done.exit_code == 0, done.output
    assert world.record("deploy").confirmed_by == person
    shown = run.invoke(app, ["explain", "job", POOL, "deploy"])
    assert f"confirmed by {person}" in shown.output


@pytest.mark.row("UI-12")
@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_name_that_no_job_can_keep_is_refused(name: str, run: CliRunner, redis: Redis) -> None:
    refused = run.invoke(app, ["cancel", POOL, "one", "--as", name])
    assert (refused.exit_code, "--as" in refused.stderr) == (2, True)
    assert sent_tasks(redis) == []


@pytest.mark.row("SL-16")
def test_another_plan_than_the_one_that_waits_is_refused_and_the_right_one_named(
    world: SlotWorld, run: CliRunner, plan: str
) -> None:
    refused = run.invoke(app, ["confirm", POOL, "deploy", "1-1", "--json"])
    told = orjson.loads(refused.stdout)
    assert (refused.exit_code, told["done"], told["state"]) == (1, False, "reserved")
    assert f"the plan that waits is {plan}" in told["why"]
    assert world.effects == {"deploy plan": 1}


@pytest.mark.row("SL-31")
def test_a_job_that_waits_is_cancelled_once(world: SlotWorld, run: CliRunner, plan: str) -> None:
    assert plan
    done = run.invoke(app, ["cancel", POOL, "deploy", "--json"])
    assert (done.exit_code, orjson.loads(done.stdout)["state"]) == (0, "done"), done.output
    assert world.record("deploy").outcome == "cancelled"
    again = run.invoke(app, ["cancel", POOL, "deploy"])
    assert (again.exit_code, "it has ended: cancelled" in again.stderr) == (1, True)


def test_what_cannot_be_decided_is_said(world: SlotWorld, run: CliRunner) -> None:
    PodPoolNames(world.ledger.redis).add(POOL)
    unknown = run.invoke(app, ["cancel", POOL, "nine"])
    assert (unknown.exit_code, "knows no job nine" in unknown.stderr) == (1, True)
    world.submit("one")
    early = run.invoke(app, ["confirm", POOL, "one", "1-1"])
    assert (early.exit_code, "it waits for no confirmation: it is waiting" in early.stderr) == (1, True)


def test_a_broker_that_is_away_is_said(world: SlotWorld, run: CliRunner) -> None:
    world.submit("one")
    away = {"BERTHMASTER_BROKER__URL": f"redis://127.0.0.1:{free_port()}/0"}
    unsent = run.invoke(app, ["cancel", POOL, "one"], env=away)
    assert (unsent.exit_code, "the broker does not accept it" in unsent.stderr) == (1, True)


def test_without_workers_nothing_is_claimed_to_be_done(world: SlotWorld, run: CliRunner, redis: Redis) -> None:
    world.submit("one")
    late = run.invoke(app, ["cancel", POOL, "one"], env={"LOGNAME": "olga"})
    assert (late.exit_code, "no worker has done it within 15 s" in late.stderr) == (1, True)
    assert sent_tasks(redis) == [[routing.SLOTS_CANCEL, POOL, "one", "olga"]]
