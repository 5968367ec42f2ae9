"""Every view shows what jobs, objects and strangers wrote, and sends none of it to the terminal as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
import pytest
from redis import Redis

from tests.fixtures.kube import SandboxKube
from tests.support.claims.claim_set_world import ClaimSetWorld
from tests.support.command_line import berthmaster
from tests.support.faults.hostile import HOSTILE, sent_raw
from tests.support.jobs.slot_world import SlotWorld

GROUP: Final = "berthmaster.dev/v1alpha1"
WRONG: Final = {"type": "Ready", "status": "False", "reason": "Refused", "message": HOSTILE}
TEMPLATE: Final = {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}
ARN: Final = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/arena-0/0123456789abcdef"
PORTS: Final = {"region": "eu-west-1", "vpcId": "vpc-1", "startPort": 7000, "loadBalancers": [ARN]}
HELD: Final = "held"
PLAN: Final = f"+ one\n\t- two\n{HOSTILE}\n"


class Place:
    """A cluster and a Redis in which everything that can hold a text holds a hostile one."""

    def __init__(self, kube: SandboxKube, redis: Redis) -> None:
        self.kube, self.pool = kube, f"{kube.namespace}/hostile"
        self.jobs(SlotWorld(redis, self.pool))
        self.claims(ClaimSetWorld(redis, kube.api, kube.namespace))
        self.object("podpools", {"template": TEMPLATE}, {"reason": HOSTILE, "conditions": [WRONG]})
        self.object("portpools", PORTS, {"state": "Active", "conditions": [WRONG]}, namespaced=False)
        note = {"berthmaster.dev/ports": HOSTILE, "berthmaster.dev/ports-message": HOSTILE}
        pod = {"metadata": {"name": "odd", "annotations": note}, **TEMPLATE}
        kube.api.create(kube.path("pods"), {"apiVersion": "v1", "kind": "Pod", **pod})

    def object(self, plural: str, spec: Mapping[str, Any], status: Mapping[str, Any], namespaced: bool = True) -> None:
        kind = {"podpools": "PodPool", "portpools": "PortPool"}[plural]
        path = self.kube.path(plural, group=GROUP) if namespaced else f"/apis/{GROUP}/{plural}"
        body = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": "hostile"}, "spec": spec}
        self.kube.api.create(path, body)
        self.kube.api.patch(f"{path}/hostile/status", {"status": status})

    def jobs(self, world: SlotWorld) -> None:
        world.add("a", ("*", "*", "*"))
        world.submit(HELD, "plan", "apply", serial_key=HOSTILE)
        world.submit(HOSTILE, "plan")
        world.deliver_all()
        for attempt, (job, phase, _) in list(world.runners["a"].running.items()):
            world.send(world.ledger.finish(job, phase, attempt, "succeeded", PLAN).placed)
        seen = {"slots": {HOSTILE: 1}, "problem": HOSTILE, "pods": {"open": 1}}
        decision = {"change": 0, "reason": HOSTILE, "size": 1, "seen": seen}
        world.redis.set(f"{world.ledger.prefix}decision", orjson.dumps(decision))

    def claims(self, world: ClaimSetWorld) -> None:
        world.settle()
        status: dict[str, Any] = {"status": {"conditions": [WRONG]}}
        world.api.patch(f"{world.path('podclaims', 'db-0')}/status", status)
        world.api.patch(f"{world.path('podclaimsets', 'db')}/status", status)


VIEWS: Final[dict[str, Callable[[Place], tuple[str, ...]]]] = {
    "status": lambda _: ("status",),
    "jobs": lambda place: ("jobs", place.pool),
    "ended jobs": lambda place: ("jobs", place.pool, "--ended"),
    "explain a job that is kept": lambda place: ("explain", "job", place.pool, HELD),
    "explain a job that has ended": lambda place: ("explain", "job", place.pool, HOSTILE),
    "explain a pod pool": lambda place: ("explain", "pod-pool", place.pool),
    "explain a claim": lambda place: ("explain", "claim", f"{place.kube.namespace}/db-0"),
    "explain a set": lambda place: ("explain", "claimset", f"{place.kube.namespace}/db"),
    "confirm what has ended": lambda place: ("confirm", place.pool, HOSTILE, "1-1"),
    "cancel what has ended": lambda place: ("cancel", place.pool, HOSTILE),
    "cancel what is not there": lambda place: ("cancel", place.pool, f"none{HOSTILE}"),
    "migrate to nowhere": lambda place: ("migrate", f"{place.kube.namespace}/db-0", "--to", HOSTILE),
    "the doctor": lambda _: ("doctor",),
}


@pytest.fixture
def place(places: dict[str, str], kube_sandbox: SandboxKube, redis: Redis) -> Place:
    del places  # our kinds are served
    return Place(kube_sandbox, redis)


@pytest.mark.row("HO-10")
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_sends_what_it_was_given_to_the_terminal(places: dict[str, str], place: Place, view: str) -> None:
    words, odd = VIEWS[view](place), {f"BERTHMASTER_{HOSTILE}__X": "1"}
    text = berthmaster({**places, **odd}, *words).output
    assert sent_raw(text) == []
    assert "\\u" in text
    told = berthmaster({**places, **odd}, *words, "--json")
    assert sent_raw(told.output) == []
    assert not told.stdout or orjson.loads(told.stdout)


@pytest.mark.row("HO-10")
def test_the_lines_of_a_plan_stay_lines(places: dict[str, str], place: Place) -> None:
    lines = berthmaster(places, "explain", "job", place.pool, HELD).stdout.splitlines()
    assert [line for line in lines if line.startswith("    ")][:2] == ["    + one", "    \t- two"]
