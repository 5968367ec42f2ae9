"""Annotations are written by whoever may write a pod: whatever they say, runs end, nobody else notices, and nothing
that was held is lost by a mistake. The whole way, from the API server through Redis to a cloud.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from redis import Redis
from structlog.testing import capture_logs

from compose.sandbox.aws.remote import Network
from domain.ports.pod import PortsState
from tests.fixtures.kube import SandboxKube
from tests.support.ports.fleet import Fleet
from tests.support.ports.ledger_recount import faults
from tests.support.ports.memory_cloud import MemoryCloud
from tests.support.ports.world_checks import check_unique
from workers.cloud.tags import UID
from workers.port_audit.reconciler import audit

GOOD = "game=7777/UDP@arena"
THEIRS = "7777/UDP@arena"
POOLS = ("arena", "arena+annex", "nowhere", "arena+arena", "Arena", "arena+", "")
PROTOCOLS = ("TCP", "UDP", "TCPUDP", "TLS", "QUIC", "udp", "SCTP", "")
TOKENS = ("game", "=", "7777", "65535", "0", "-", "-", "/", "/UDP", "TCP", "@", "@arena", "annex", "+", ",", "\n", " ",
          "99999", "7777/UDP@arena", "\x00", "\u0661", "\u00b2", "\u2028", "{", '"', "a" * 70)  # fmt: skip

texts = st.text(st.characters(codec="utf-8"), max_size=40)
soups = st.lists(st.sampled_from(TOKENS), max_size=12).map("".join)
numbers = st.one_of(st.integers(7775, 7785), st.integers(-1, 70000), st.sampled_from([10**20, 65535, 1])).map(str)
entries = st.builds(
    "{}{}{}/{}@{}".format,
    st.sampled_from(["", "", "game=", "GAME=", "=", "a=b="]),
    numbers,
    st.one_of(st.just(""), st.just(""), numbers.map(lambda end: f"-{end}")),
    st.sampled_from(PROTOCOLS),
    st.sampled_from(POOLS),
)
lists = st.lists(st.one_of(entries, entries, soups), min_size=1, max_size=4).map(",".join)
words = st.one_of(
    st.sampled_from(["true", "false", "TRUE", "1", "", "24h", "-1h", "1e9h", "9" * 400, "0", "[]", "null"]), texts
)
rows = st.fixed_dictionaries(
    {},
    optional={
        "name": texts,
        "pool": st.sampled_from(["arena", "annex", "", None, 7]),
        "loadBalancer": st.sampled_from(["{lb}", "{lb}", "bm-0", "", "../..", None]),
        "port": st.sampled_from([30000, 30001, 30002, 0, -1, 65536, "30000", 3e4, True, None]),
        "endPort": st.sampled_from([30000, 30001, 30009, 1, 65536, None]),
        "containerPort": st.sampled_from([7777, 0, "7777", 65536]),
        "protocol": st.sampled_from(["UDP", "TCP", 1]),
        "target": st.sampled_from(["", "10.0.0.1:7777", "10.0.0.2:7777", "169.254.169.254:80", "a:b", ":", "::1:1"]),
        "host": texts,
    },
)
shown_texts = st.one_of(
    st.lists(rows, max_size=4).map(json.dumps), texts, st.sampled_from(["[" * 5000, "{}", "null", "[1e999]", "NaN"])
)
attacks = st.fixed_dictionaries(
    {"ports": st.one_of(lists, lists, soups, texts, st.just(GOOD), st.none())},
    optional={
        "ports_enabled": words,
        "ports_retain": words,
        "same_port_across_pools": words,
        "certificate_arn": st.one_of(texts, st.just("arn:aws:acm:us-east-1:1:certificate/x")),
        "endpoints": shown_texts,
        "ports_state": st.one_of(st.sampled_from(PortsState), texts),
        "ports_message": texts,
        "surprise": texts,
    },
)


class Attack:
    """One pod that is up to something, and one that minds its own business."""

    def __init__(self, redis: Redis, kube: SandboxKube) -> None:
        redis.flushall()
        self.cloud = MemoryCloud()
        self.fleet = Fleet(redis, kube.api, kube.namespace, self.cloud, Network("vpc-1", ("subnet-1",), "sg-1"))
        kube.api.delete(f"/api/v1/namespaces/{kube.namespace}/pods", {"gracePeriodSeconds": 0})
        self.fleet.pod("neighbour", THEIRS, ip="10.0.0.2")
        self.fleet.pod("attacker", GOOD, ip="10.0.0.1")
        self.fleet.settle()
        self.neighbour, self.held = self.served("neighbour"), self.served("attacker")
        assert self.neighbour[0] == self.held[0] == "Bound"

    def served(self, name: str) -> tuple[str, list[dict[str, Any]], list[str]]:
        """State, endpoints, and the ARNs of the listeners that stand for them."""
        state, endpoints, _ = self.fleet.shown(name)
        uid = self.fleet.api.get(self.fleet.pod_path(name))["metadata"]["uid"]
        return state, endpoints, sorted(x.arn for x in self.listeners() if x.tags[UID] == uid)

    def listeners(self) -> list[Any]:
        owned = self.cloud.find_owned_load_balancers(self.fleet.cluster)
        return [listener for lb in owned for listener in self.cloud.listeners(lb.arn)]

    def write(self, notes: dict[str, str | None], lose_redis: bool) -> None:
        lb = self.held[1][0]["loadBalancer"]
        text = notes.get("endpoints")
        self.fleet.annotate("attacker", **(notes | ({"endpoints": text.replace("{lb}", lb)} if text else {})))
        if lose_redis:
            self.fleet.redis.flushall()
        self.come_to_rest()

    def come_to_rest(self) -> None:
        with capture_logs() as logs:
            self.fleet.settle()
            audit(self.fleet.services)
            self.fleet.settle()
        assert [line for line in logs if line["event"] in ("reconcile_failed", "reconcile_refused")] == []

    def check(self) -> None:
        assert self.served("neighbour") == self.neighbour
        check_unique(self.fleet)
        assert [fault for pool in ("arena", "annex") for fault in faults(self.fleet.redis, f"{{pp:{pool}}}")] == []
        state, _, message = self.fleet.shown("attacker")
        assert state in {"", *PortsState}
        assert state != "Failed" or message
        assert len(message) <= 1024
        assert {target.ip for target in self.targets()} <= {"10.0.0.1", "10.0.0.2"}

    def targets(self) -> list[Any]:
        groups = self.cloud.target_groups_owned(self.fleet.cluster)
        return [target for group in groups for target in self.cloud.targets(group.arn)]

    def repent(self) -> None:
        """A good request again; what a mistake had left alone is still there."""
        mistaken = self.fleet.shown("attacker")[0] == "Failed"
        names = ("ports_enabled", "ports_retain", "same_port_across_pools", "certificate_arn", "surprise")
        self.fleet.annotate("attacker", **(dict.fromkeys(names) | {"ports": GOOD}))
        self.come_to_rest()
        now = self.served("attacker")
        assert now[0] == "Bound", self.fleet.shown("attacker")
        assert not mistaken or now == self.held

    def go(self) -> None:
        self.fleet.delete("attacker")
        self.come_to_rest()
        assert self.served("neighbour") == self.neighbour
        assert len(self.listeners()) == len(self.cloud.target_groups_owned(self.fleet.cluster)) == 1
        self.fleet.delete("neighbour")


@pytest.fixture
def two_pools(redis: Redis, kube_sandbox: SandboxKube, crds_sandbox: None) -> Any:
    fleet = Fleet(redis, kube_sandbox.api, "", MemoryCloud(), Network("vpc-1", ("subnet-1",), "sg-1"))
    for name in ("arena", "annex"):
        fleet.pool(name)
    return kube_sandbox


@pytest.mark.row("AL-09", "AL-17", "BD-03", "EV-10", "FZ-07")
@pytest.mark.timeout(300)
@settings(
    max_examples=40, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(notes=attacks, lose_redis=st.booleans())
@example(notes={"ports": "7777"}, lose_redis=True)
@example(notes={"ports": None}, lose_redis=True)
def test_no_annotation_harms_anybody_else_or_loses_what_is_held(
    two_pools: SandboxKube, redis: Redis, notes: dict[str, str | None], lose_redis: bool
) -> None:
    attack = Attack(redis, two_pools)
    attack.write(notes, lose_redis)
    attack.check()
    attack.repent()
    attack.check()
    attack.go()
