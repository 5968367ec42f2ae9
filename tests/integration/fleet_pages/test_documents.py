"""What the pages of single objects show, and what the search finds. Redis is all that they read."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from redis import Redis

from berthmaster.routing import pod_claim_key, pod_claim_set_key, pod_key
from domain.kubernetes.names import ENDPOINTS, PORTS, PORTS_MESSAGE, PORTS_STATE
from events.workqueue import Mark, Workqueue
from tests.support.event_stream import journal_on
from tests.support.servers.shown_fleet import ShownFleet
from workers.fleet_pages.claim_documents import claim, claim_set
from workers.fleet_pages.document import Document
from workers.fleet_pages.job_documents import job, pod_pool
from workers.fleet_pages.port_documents import load_balancer, pod, port_pool
from workers.fleet_pages.readers import FleetReaders
from workers.fleet_pages.search import search

EPOCH = "1:test"
ENDPOINT = {"name": "game", "address": "arena-lb-0.example:30000", "protocol": "UDP", "status": "Ready"}
HAS_POD = {"type": "Bound", "status": "True", "reason": "HasPod", "message": "it has pod a"}
HELD = [["30000", "bound", "games/a"], ["30001", "bound", "games/a"]]


@pytest.fixture
def readers(redis: Redis, shown: ShownFleet) -> FleetReaders:
    """Of a fleet with the pods games/a and games/z, a runner, a job whose plan waits, and a bound claim."""
    shown.bind("games/a", 2)
    shown.ports.fail("games/z", 60)
    shown.jobs.add("u1")
    shown.decide("enough slots idle", 1)
    shown.jobs.planned("deploy-1", "u1")
    queue = Workqueue(redis, publish=lambda _: None)
    queue.assume_epoch(EPOCH)
    annotations = {PORTS: "7000/UDP@arena", PORTS_STATE: "Bound", ENDPOINTS: "arena-lb-0.example:30000/UDP"}
    ips = ["10.0.0.9", "fd00::9"]
    snapshot = {"namespace": "games", "name": "a", "uid": "uid-of-a", "annotations": annotations, "ips": ips}
    spec = {"spec": {"podName": "a", "nodeName": "n1", "template": {"kind": ["x"]}}, "created": "2026-01-01T00:00:00Z"}
    waits: dict[str, Any] = {"namespace": "games", "name": "z", "uid": "uid-of-z", "ips": [], "phase": "Running"}
    waits |= {"annotations": {PORTS: "7000/UDP@arena", PORTS_STATE: "NoPortAvailable", PORTS_MESSAGE: "arena is full"}}
    claim_set = {"uid": "set-1", "name": "arenas", "spec": {"replicas": 3}}
    bodies = {
        pod_key("games", "a"): snapshot | {"phase": "Running"},
        pod_key("games", "z"): waits,
        pod_claim_key("games", "one"): spec,
        pod_claim_set_key("games", "arenas"): claim_set,
    }
    marks = [Mark(key, 1, "uid-1", gone=False, body=orjson.dumps(body)) for key, body in bodies.items()]
    queue.marks(EPOCH, marks, relist=True)
    shown.claim("games/one", "Bound", podName="a", conditions=[HAS_POD], podIPs=ips, endpoints=[ENDPOINT])
    shown.claim("games/two", "Bound", podName="warm-1", podIPs=["10.0.0.7"])
    shown.event("allocation.failed", "pod/games/z", "no free port")
    return FleetReaders(redis)


def rows(document: Document | None, caption: str) -> list[list[Any]]:
    assert document
    (table,) = [table for table in document.tables if table["caption"] == caption]
    return [[cell if isinstance(cell, str) else cell["text"] for cell in row] for row in table["rows"]]


def facts(document: Document | None) -> dict[str, Any]:
    assert document
    return dict(document.facts)


@pytest.mark.row("UI-06")
def test_a_pod_shows_what_explain_says_of_its_snapshot(readers: FleetReaders) -> None:
    page = pod(readers, "games", "a")
    assert facts(page)["games/a"] == "Bound"
    assert [row[1:4] for row in rows(page, "Ports of arena")] == HELD
    assert rows(pod(readers, "games", "z"), "History") == [
        ["2026-01-01T00:00:00Z", "allocation.failed", "no free port"]
    ]
    assert pod(readers, "games", "nobody") is None


@pytest.mark.row("UI-06")
def test_a_pod_with_slots_shows_its_jobs(readers: FleetReaders) -> None:
    page = pod(readers, "ci", "pod-u1")
    assert [row[1:] for row in rows(page, "Slots")] == [["reserved", "deploy-1"], ["-", "-"], ["-", "-"]]


@pytest.mark.row("UI-06", "UI-07")
def test_a_pod_whose_record_is_lost_has_a_page_too(readers: FleetReaders, redis: Redis) -> None:
    redis.hdel("{sp:ci/runners}pods", "u1")
    assert [row[1:] for row in rows(pod(readers, "ci", "pod-u1"), "Slots")] == [["running", "deploy-1"]]
    assert search(readers, "pod-u1") == (("pod", "ci/pod-u1"),)


@pytest.mark.row("UI-06", "UI-14")
def test_a_port_pool_shows_who_holds_and_who_waits(readers: FleetReaders) -> None:
    page = port_pool(readers, "arena")
    assert [row[:2] for row in rows(page, "Load balancers")] == [["arena-lb-0", "2"], ["arena-lb-1", "0"]]
    (waiting,) = rows(page, "Waiting pods")
    assert (waiting[:2], waiting[3:]) == (["games/z", "60"], ["1", "arena is full", "-"])
    assert [row[1:4] for row in rows(page, "Ports in use")] == HELD
    assert port_pool(readers, "nobody") is None
    assert len(rows(load_balancer(readers, "arena", "arena-lb-0"), "Ports in use")) == 2
    assert load_balancer(readers, "arena", "nobody") is None


@pytest.mark.row("UI-06")
def test_a_pod_pool_shows_pods_jobs_and_its_latest_decision(readers: FleetReaders) -> None:
    page = pod_pool(readers, "ci/runners")
    assert facts(page)["latest decision"] == "1 pod wanted, change +0: enough slots idle"
    assert [row[:3] for row in rows(page, "Pods")] == [["pod-u1", "open", "1 of 3"]]
    assert [row[:3] for row in rows(page, "Jobs")] == [["deploy-1", "reserved", "plan"]]
    assert pod_pool(readers, "ci/nobody") is None
    assert job(readers, "ci/runners", "nobody") is None


@pytest.mark.row("UI-06", "UI-17")
def test_the_page_of_a_job_says_who_decided(readers: FleetReaders, shown: ShownFleet, redis: Redis) -> None:
    assert shown.jobs.confirm("deploy-1", shown.jobs.record("deploy-1").plan, "olga")
    journal_on(redis).job_events(shown.jobs.ledger)
    page = job(readers, "ci/runners", "deploy-1")
    assert facts(page)["confirmed by"] == "olga"
    assert [row[1:] for row in rows(page, "History")] == [["job.decided", "confirmed by olga"]]


@pytest.mark.row("UI-15")
def test_a_pod_pool_shows_the_versions_of_its_runners(readers: FleetReaders, shown: ShownFleet) -> None:
    for uid, version in {"u2": "0.2.0", "u3": "0.2.0", "u4": "x" * 51}.items():
        shown.jobs.add(uid).version = version
        shown.jobs.beat(uid)
    page = pod_pool(readers, "ci/runners")
    assert facts(page)["versions of runners"] == "2 pods 0.2.0"
    assert [row[4] for row in rows(page, "Pods")] == ["-", "0.2.0", "0.2.0", "-"]
    shown.jobs.runners["u3"].version = "0.3.0"
    shown.jobs.beat("u3")
    assert facts(pod_pool(readers, "ci/runners"))["versions of runners"] == "1 pod 0.2.0, 1 pod 0.3.0"


@pytest.mark.row("UI-06", "UI-13")
def test_a_claim_shows_its_phase_pod_and_endpoints(readers: FleetReaders) -> None:
    page = claim(readers, "games", "one")
    shown = facts(page)
    assert (shown["phase"], shown["pod"]["path"]) == ("Bound", "/pod/games/a")
    assert shown["addresses"] == "10.0.0.9, fd00::9"
    assert rows(page, "Endpoints") == [["game", "arena-lb-0.example:30000", "UDP", "Ready"]]
    assert rows(page, "Conditions") == [["Bound", "True", "HasPod", "it has pod a"]]
    assert ["template.kind", "x"] in rows(page, "Spec")
    assert claim(readers, "games", "nobody") is None


@pytest.mark.row("UI-13")
def test_a_claim_set_shows_its_claims_and_why_they_have_no_pod(readers: FleetReaders, shown: ShownFleet) -> None:
    waits = {"type": "Bound", "status": "False", "reason": "PoolFull", "message": "warm is full"}
    shown.claim("games/arenas-0", "Bound", "set-1", podName="a", endpoints=[ENDPOINT])
    shown.claim("games/arenas-1", "Pending", "set-1", conditions=[waits])
    shown.claim("games/arenas-2", "Pending", "another set's")
    page = claim_set(readers, "games", "arenas")
    assert (facts(page)["claims wanted"], facts(page)["claims present"]) == ("3", "2")
    assert rows(page, "Claims") == [
        ["arenas-0", "Bound", "a", "arena-lb-0.example:30000", "-"],
        ["arenas-1", "Pending", "-", "-", "warm is full"],
    ]
    assert claim_set(readers, "games", "nobody") is None


@pytest.mark.row("UI-13")
def test_a_waiting_claim_shows_why_it_waits(readers: FleetReaders, shown: ShownFleet) -> None:
    odd = {"type": "Bound", "status": "False", "reason": "PodRefused", "message": "no\u202e"}
    shown.claim("games/three", "Pending", conditions=[odd])
    assert rows(claim(readers, "games", "three"), "Conditions") == [["Bound", "False", "PodRefused", "no\\u202e"]]


@pytest.mark.row("UI-07")
@pytest.mark.parametrize(
    ("asked", "hits"),
    [
        ("games/a", {("pod", "games/a")}),
        ("a", {("pod", "games/a")}),
        ("10.0.0.9", {("pod", "games/a")}),
        ("10.0.0.1:7777", {("pod", "games/a")}),
        ("ARENA-lb-0.example:30001", {("pod", "games/a")}),
        ("arena-lb-0.example:30002", set()),
        ("arena-lb-1", {("lb", "arena/arena-lb-1")}),
        ("arena-lb-1.example", {("lb", "arena/arena-lb-1")}),
        ("arn:arena-lb-1", {("lb", "arena/arena-lb-1")}),
        ("arena-lb-0:30000", {("pod", "games/a")}),
        ("fd00::9", {("pod", "games/a")}),
        ("10.0.0.7", {("pod", "games/warm-1")}),
        ("games/z", {("pod", "games/z")}),
        ("games/one", {("podclaim", "games/one")}),
        ("arenas", {("podclaimset", "games/arenas")}),
        ("ci/runners", {("podpool", "ci/runners")}),
        ("  deploy-1 ", {("job", "ci/runners/deploy-1")}),
        ("arena", {("portpool", "arena")}),
        ("runners", {("podpool", "ci/runners")}),
        ("deploy-1", {("job", "ci/runners/deploy-1")}),
        ("ci/runners/deploy-1", {("job", "ci/runners/deploy-1")}),
        ("one", {("podclaim", "games/one")}),
        ("pod-u1", {("pod", "ci/pod-u1")}),
        (" ", set()),
        ("*", set()),
    ],
)
def test_the_search_finds_what_people_have_in_hand(asked: str, hits: set[Any], readers: FleetReaders) -> None:
    assert set(search(readers, asked)) == hits
