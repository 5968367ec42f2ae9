"""Whatever happens, in whatever order: when it stops, every invariant holds and nobody waits who could be served.

A history is a list of random steps from a seed: pods come, go and come back under their names, opt out and in, runs
begin and die at any call, scale-up winners die, requests and hints are lost, AWS throttles and loses answers, Redis is
flushed, keys expire, load balancers stay empty.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from redis import Redis

from berthmaster.routing import pod_key
from events.kube.api import KubeError
from tests.fixtures.aws import Aws
from tests.fixtures.kube import SandboxKube
from tests.support.faults.interruption import Fuse, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.ledger_recount import grow_old
from tests.support.ports.world_checks import check_all, check_unique
from tests.support.ready_keys import READY
from workers.port_audit.reconciler import audit
from workers.scale_up.intent import scale_up
from workers.scale_up.sweep import sweep

NAMES = [f"p{n}" for n in range(9)]
MOST = 2
PORTS_OF_ONE = 4
STEPS = 60
TROUBLES = (
    *("CreateListener", "CreateTargetGroup", "RegisterTargets", "DeleteListener"),
    *("CreateLoadBalancer", "DeleteLoadBalancer", "AddTags"),
)


class History:
    def __init__(self, fleet: Fleet, aws: Aws, seed: int) -> None:
        self.fleet, self.aws, self.chance, self.addresses = fleet, aws, random.Random(seed), 0
        self.log: list[str] = []
        create = {"enabled": True, "maxLoadBalancers": MOST, "parameters": {"subnets": list(fleet.network.subnets)}}
        fleet.pool("arena", endPort=30000 + PORTS_OF_ONE - 1, autoCreate=create)
        for n in range(5):
            fleet.pod(NAMES[n], "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
        fleet.settle()

    def step(self) -> None:
        weights: dict[Callable[[], object], int] = {
            self.create: 6, self.delete: 4, self.opt: 1, self.fleet.sync: 6, self.run: 8, self.run_and_die: 4,
            self.scale: 2, self.scale_and_die: 2, self.fleet.due: 2, self.sweep: 2, self.expire: 1, self.work: 8,
            self.lose_hints: 1, self.flush: 1, self.trouble: 2, self.audit: 1, self.grow_old: 3,
        }  # fmt: skip
        chosen = self.chance.choices(list(weights), list(weights.values()))[0]
        self.log.append(chosen.__name__)
        with contextlib.suppress(KubeError):  # the pod is there already, or is not
            chosen()

    def create(self) -> None:
        self.addresses += 1
        wants = self.chance.choice(["7777/UDP@arena", "7777/UDP@arena", "a=7777/UDP@arena,b=80/TCP@arena"])
        address = f"10.1.{self.addresses // 250}.{self.addresses % 250 + 1}"
        self.fleet.pod(self.chance.choice(NAMES), wants, ip=self.chance.choice([address, address, ""]))

    def delete(self) -> None:
        self.fleet.delete(self.chance.choice(NAMES))

    def opt(self) -> None:
        self.fleet.annotate(
            self.chance.choice(NAMES), ports=self.chance.choice([None, "7777/UDP@arena", "81/TCP@arena"])
        )

    def work(self) -> None:
        """What workers do for a while, all in order."""
        self.fleet.sync()
        for key in self.fleet.queued():
            self.fleet.run(key)
        self.fleet.scale()

    def some_key(self) -> str:
        return self.chance.choice(["portpool/arena", *(pod_key(self.fleet.namespace, n) for n in NAMES)])

    def run(self) -> None:
        self.fleet.run(self.some_key())

    def run_and_die(self) -> None:
        fuse = Fuse(self.chance.randrange(8), after=self.chance.random() < 0.5)
        driver = fuse.guard(self.fleet.driver)
        services = self.fleet.other(driver=lambda _: driver, pods=fuse.guard(self.fleet.services.pods))
        with contextlib.suppress(Killed):
            self.fleet.run(self.some_key(), services)

    def scale(self) -> None:
        self.fleet.scale()

    def scale_and_die(self) -> None:
        if not self.fleet.requests:
            return
        driver = Fuse(self.chance.randrange(3), after=self.chance.random() < 0.5).guard(self.fleet.driver)
        request = self.fleet.requests.pop(0)
        with contextlib.suppress(Killed):
            scale_up(self.fleet.other(driver=lambda _: driver), *request)

    def sweep(self) -> None:
        sweep(self.fleet.services)

    def audit(self) -> None:
        audit(self.fleet.services)

    def expire(self) -> None:
        """Keys of winners end; a request may be lost as well."""
        if self.fleet.requests and self.chance.random() < 0.5:
            self.fleet.requests.pop()
        for key in list(self.fleet.redis.scan_iter("{pp:arena}scale-up:*")):
            self.fleet.redis.delete(key)

    def lose_hints(self) -> None:
        self.fleet.redis.delete(*READY.values())  # keys stay dirty, in no list: worse than a lost message

    def flush(self) -> None:
        self.fleet.redis.flushall()

    def trouble(self) -> None:
        action = self.chance.choice(TROUBLES)
        order = self.chance.choice(
            [{"code": "Throttling"}, {"lose": "error"}, {"lose": "cut"}, {"code": "InternalFailure"}]
        )
        self.aws.fault(action, **order)

    def grow_old(self) -> None:
        """Load balancers that are empty now may go, and what was put off is tried again."""
        grow_old(self.fleet.redis, "{pp:arena}", timedelta(hours=1))
        for key in list(self.fleet.redis.scan_iter("{pp:arena}put-off:*")):
            self.fleet.redis.delete(key)
        self.fleet.queue.touch(["portpool/arena"])

    def end(self) -> None:
        """Troubles stop; what happens by itself, happens."""
        self.aws.heal()
        for _ in range(4):
            self.expire()
            self.fleet.queue.touch([pod_key(self.fleet.namespace, n) for n in NAMES])  # the periodic resync
            self.fleet.due()
            self.fleet.settle()
            sweep(self.fleet.services)
            audit(self.fleet.services)
            self.fleet.settle()
            self.grow_old()
            self.fleet.settle()


def check_served(fleet: Fleet) -> None:
    """I5 and I6: no more load balancers than allowed or needed, and no pod waits for what is free or can be created."""
    made = fleet.driver.find_owned_load_balancers(fleet.cluster)
    assert len(made) <= MOST
    ledger = fleet.ledger("arena")
    assert {lb.name for lb in ledger.load_balancers} == {lb.name for lb in made}
    assert ledger.waiting or all(lb.used for lb in ledger.load_balancers)
    possible = ledger.free + (MOST - len(made)) * PORTS_OF_ONE
    for name in NAMES:
        if fleet.exists(name) and fleet.state(name) == "NoPortAvailable":
            wanted = len(
                fleet.api.get(fleet.pod_path(name))["metadata"]["annotations"]["berthmaster.dev/ports"].split(",")
            )
            assert wanted > possible, f"{name} waits for {wanted} ports, {possible} are there"
        elif fleet.exists(name):
            assert fleet.state(name) in ("Bound", "WaitBackend", ""), (name, fleet.shown(name))


@pytest.mark.row("AL-01", "SU-08", "SU-13", "PP-16", "EV-10", "EV-14", "FZ-05", "FZ-06", "PP-28")
@pytest.mark.parametrize("seed", range(10))
def test_after_any_history_the_invariants_hold_and_nobody_waits_in_vain(
    redis: Redis, kube_sandbox: SandboxKube, crds_sandbox: None, aws: Aws, seed: int
) -> None:
    fleet = Fleet(redis, kube_sandbox.api, kube_sandbox.namespace, aws.driver(), aws.ids, cluster=f"h{seed}")
    history = History(fleet, aws, seed)
    try:
        for _ in range(STEPS):
            history.step()
            check_unique(fleet)
        history.end()
        check_served(fleet)
        check_all(fleet, aws)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {' '.join(history.log)}: {error}") from error
