"""The whole system in a storm: everything that may die, dies, while pods come, go and change their minds. In the end it
is as if nothing had happened, and those whom nobody touched have not noticed.

BERTHMASTER_CHAOS_SECONDS is how long it blows, BERTHMASTER_CHAOS_SEED repeats one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from botocore.exceptions import ClientError
from redis import Redis

from berthmaster.redis.incarnation import connect
from compose.sandbox.aws.remote import Network
from compose.sandbox.environment import CLUSTER
from compose.sandbox.kube.apply import apply
from compose.sandbox.workload import NAMESPACE, POOL, pool
from domain.ports.endpoints import parse_endpoints
from domain.ports.pod import PodView, PortsState
from events.kube.api import KubeError
from tests.support.faults.meddling import Meddling
from tests.support.faults.spell_faults import Spells
from tests.support.faults.storm_faults import Faults
from tests.support.ports.crowd import ARN, BIG, REQUESTS, SMALL, STOCK, Crowd
from tests.support.ports.served import Books, astray, movement, unnamed, unserved
from tests.support.ports.world_checks import check_unique, load_balancers
from tests.support.servers.whole import PATIENCE, Whole, running
from tests.support.waiting import eventually
from workers.cloud.errors import CloudError

SECONDS = float(os.environ.get("BERTHMASTER_CHAOS_SECONDS", "45"))
SEED = int(os.environ.get("BERTHMASTER_CHAOS_SEED", "0")) or Random().randrange(1, 10**6)
REST = 180.0
"""Seconds in which everybody must have been served again: leases, retries, sweeps and audits of a busy machine."""
QUIET = 6.0
"""Seconds without a move after which all is at rest: longer than the period of an audit and of a sweep."""
BYSTANDERS = 8
PORTS_OF_ONE = 12
MOST = {BIG: 10, SMALL: 0, STOCK: 3}
ROOM = 6
"""Ports of the small pool."""
IN_STOCK = 4
"""Precreated listeners of each load balancer."""
IMPATIENT = {"BERTHMASTER_PORTS__AUDIT_EVERY": "4s", "BERTHMASTER_PORTS__ORPHAN_GRACE": "3s",
             "BERTHMASTER_PORTS__WAITING_RECHECK": "5s", "BERTHMASTER_PORTS__RETAIN_FOR": "10s"}  # fmt: skip


class Storm:
    def __init__(self, system: Whole, directory: Path, seed: int) -> None:
        self.system, self.aws, self.chance = system, system.aws, Random(seed)
        self.crowd, self.faults = Crowd(system.api, self.chance), Faults(system, self.chance, directory)
        self.spells = Spells(self.faults)
        self.meddling = Meddling(system.aws, system.cluster, self.chance)
        self.happened: Counter[str] = Counter()
        self.redis: Redis = connect(system.stack.redis.url)
        self.books = Books(self.redis, MOST)

    def prepare(self) -> None:
        """Two pools, a stranger's listener, and pods that are left in peace."""
        network = self.aws.ids
        self.stranger = self.foreign(network)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        apply(self.system.api, [namespace, big(network), small(network, self.annex), stock(network)])
        for n in range(BYSTANDERS):
            self.crowd.make(f"bystander-{n}", REQUESTS[n])
        eventually(self.system.stack.working, timeout=PATIENCE)
        eventually(lambda: len(self.at_peace()) == BYSTANDERS, timeout=PATIENCE, every=0.2)
        self.untouched = self.at_peace()
        self.meddling.spared = frozenset(arn for _, arns in self.untouched.values() for arn in arns)

    def foreign(self, network: Network) -> str:
        client = self.aws.client()
        tags: list[Any] = [{"Key": "berthmaster.dev/listeners-of", "Value": CLUSTER}]
        made = client.create_load_balancer(Name="users-own", Type="network", Subnets=list(network.subnets), Tags=tags)
        self.annex = made["LoadBalancers"][0]["LoadBalancerArn"]
        group = client.create_target_group(Name="users-own", Protocol="TCP", Port=443, VpcId=network.vpc)
        action: Any = {"Type": "forward", "TargetGroupArn": group["TargetGroups"][0]["TargetGroupArn"]}
        listener = client.create_listener(
            LoadBalancerArn=self.annex, Protocol="TCP", Port=30001, DefaultActions=[action]
        )
        return listener["Listeners"][0]["ListenerArn"]

    def at_peace(self) -> dict[str, tuple[str | None, list[str]]]:
        """Bystander -> what it shows, and the listeners that serve it."""
        found = {}
        for pod in self.crowd.pods():
            if pod.name.startswith("bystander") and pod.outputs.state == PortsState.BOUND:
                found[pod.name] = (pod.outputs.endpoints, self.listeners_of(pod))
        return found

    def listeners_of(self, pod: PodView) -> list[str]:
        names, driver = load_balancers(self.aws), self.aws.driver()
        rows = [place for row in parse_endpoints(pod.outputs.endpoints) for place in row.port_by_port()]
        found = [driver.find_listener(names[place.lb], place.port) for place in rows]
        return [listener.arn if listener else "" for listener in found]

    # ---- while it blows

    def blow(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            with contextlib.suppress(KubeError, CloudError):  # the pod is there already, or is not; AWS is in trouble
                self.step()
            self.faults.due()
            check_unique(self.system)
            with contextlib.suppress(CloudError):
                assert self.system.load_balancers() <= sum(MOST.values())
            time.sleep(self.chance.random() * 0.4)

    def step(self) -> None:
        crowd, faults, meddling, spells = self.crowd, self.faults, self.meddling, self.spells
        weights: dict[Callable[[], object], float] = {
            crowd.create: 30, crowd.delete: 8, crowd.remove: 4, crowd.replace: 6, crowd.change: 12,
            faults.kill_worker: 2, faults.kill_workers: 1, faults.kill_publisher: 1, faults.kill_beat: 0.5,
            faults.pause_worker: 1, faults.pause_publisher: 0.5, faults.restart_redis: 1, faults.flush_redis: 1,
            faults.copy_redis: 1, faults.old_redis: 1, faults.trouble_writes: 6, faults.trouble_reads: 3,
            faults.throttle: 1, faults.trouble_kube: 3, faults.block: 1, meddling.delete: 2,
            meddling.redirect: 2, meddling.strip: 2, spells.refuse_writes: 1, spells.fill: 1, spells.miss_replicas: 0.5,
            spells.change_history: 1, spells.move_redis_clock: 1, spells.move_clock: 3, spells.send_odd_message: 6,
        }  # fmt: skip
        chosen = self.chance.choices(list(weights), list(weights.values()))[0]
        self.happened[chosen.__name__] += 1
        chosen()

    # ---- afterwards

    def rest(self) -> None:
        """Troubles are over; what happens by itself, happens, and comes to an end."""
        self.faults.calm()
        eventually(self.at_rest, timeout=REST, every=1.0)

    def at_rest(self) -> bool:
        """All is well before the last audit has mended what nobody uses: it takes its time on a busy machine."""
        try:
            self.all_well()
            before = self.moves()
            time.sleep(QUIET)
            assert self.moves() == before, "all was well, and something moves"
            return self.all_well()
        except (CloudError, KubeError, ClientError) as late:  # an answer that took too long, or what went meanwhile
            raise AssertionError(str(late)) from late

    def all_well(self) -> bool:
        pods = list(self.crowd.pods())
        assert unserved(pods, self.books) == []
        assert self.books.faults() == []
        assert astray(self.aws, self.system.cluster, pods, self.books) == []
        assert unnamed(self.aws, self.system.cluster, self.books) == []
        assert self.books.idle() == []
        self.system.check()
        return True

    def moves(self) -> tuple[int, list[tuple[str, int]]]:
        return movement(self.aws), [(pod.name, pod.version) for pod in self.crowd.pods()]

    def check(self) -> None:
        assert self.at_peace() == self.untouched
        named = set(self.meddling.spared) | {self.stranger}
        deleted = {call["params"].get("ListenerArn") for call in self.aws.calls("DeleteListener")}
        assert not deleted & named, "a listener was deleted that nobody had asked to go"
        there = self.aws.client().describe_listeners(LoadBalancerArn=self.annex)["Listeners"]
        assert self.stranger in {listener["ListenerArn"] for listener in there}
        assert self.system.load_balancers() <= sum(MOST.values())
        assert self.system.failures() == []


def big(network: Network) -> dict[str, Any]:
    made = pool(1, network)
    made["spec"] |= {"endPort": 30000 + PORTS_OF_ONE - 1, "allowedCertificates": [ARN]}
    made["spec"]["autoCreate"] |= {"maxLoadBalancers": MOST[BIG], "maxPerRound": 2, "scaleDownDelay": "3s"}
    return made


def stock(network: Network) -> dict[str, Any]:
    made = big(network)
    made["metadata"]["name"] = STOCK
    made["spec"] |= {"precreate": {"udp": IN_STOCK}, "publishWhen": "Healthy"}
    made["spec"]["autoCreate"] |= {"maxLoadBalancers": MOST[STOCK]}
    return made


def small(network: Network, annex: str) -> dict[str, Any]:
    spec = {"region": "us-east-1", "vpcId": network.vpc, "startPort": 30000, "endPort": 30000 + ROOM,
            "loadBalancers": [annex]}  # fmt: skip
    return {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PortPool", "metadata": {"name": SMALL}, "spec": spec}


@pytest.mark.row("EV-23", "EV-10", "EV-11", "EV-14", "FZ-02", "FZ-03", "FZ-05", "FZ-06", "FZ-08")
@pytest.mark.row("TM-01", "TM-03", "TM-04", "RD-21", "RD-22", "HO-01")
@pytest.mark.timeout(SECONDS + 400)
def test_after_a_storm_all_are_served_and_nothing_is_left_over(
    kube_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert POOL == BIG
    with running(tmp_path, kube_kind, monkeypatch, IMPATIENT) as system:
        storm = Storm(system, tmp_path, SEED)
        storm.prepare()
        try:
            storm.blow(SECONDS)
            storm.rest()
            storm.check()
        except AssertionError as error:
            raise AssertionError(f"seed {SEED}: {dict(storm.happened)}: {error}") from error
        finally:
            storm.redis.close()
