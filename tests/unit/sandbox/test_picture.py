"""What counts as converged, and what is said when it is not."""

from __future__ import annotations

import json

import pytest

from compose.sandbox.picture import BalancerUse, Picture, Pool, RunnerStatus, missing
from domain.kubernetes.names import ENDPOINTS, PORTS_MESSAGE, PORTS_STATE
from domain.ports.pod import PodView


def pod(name: str, port: int = 0, state: str = "Bound", message: str = "") -> PodView:
    row = {"pool": "arena", "loadBalancer": "lb-0", "port": port, "containerPort": 7777}
    notes = {PORTS_STATE: state, PORTS_MESSAGE: message} | ({ENDPOINTS: json.dumps([row])} if port else {})
    return PodView("games", name, f"uid-{name}", 1, notes)


def picture(*pods: PodView, allocated: int | None = None, waiting: int = 0, balancers: str = "lb-0") -> Picture:
    used = len(pods) if allocated is None else allocated
    pool = Pool("Active", used, waiting, (BalancerUse(balancers, used, 50),))
    return Picture({each.name: each for each in pods}, pool)


def test_nothing_is_missing_when_each_pod_has_its_own_endpoint() -> None:
    assert missing(picture(pod("a", 30000), pod("b", 30001)), 2) == []


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (picture(pod("a", 30000), allocated=2), "there are 1 pods instead of 2"),
        (
            picture(pod("a", 30000), pod("b", state="NoPortAvailable", message="full")),
            "1 pods are not bound: b (NoPortAvailable: full)",
        ),
        (picture(pod("a", 30000), pod("b", state="")), "1 pods are not bound: b (no state yet)"),
        (
            picture(pod("a", 30000), pod("b", 30000)),
            "1 endpoints are published more than once, first lb-0:30000",
        ),
        (picture(pod("a", 30000), pod("b")), "2 bound pods publish 1 endpoints"),
        (
            picture(pod("a", 30000), pod("b", 30001), allocated=1, waiting=1),
            "the pool says: Active, 1 ports in use, 1 pods waiting",
        ),
        (
            picture(pod("a", 30000), pod("b", 30001), balancers="lb-9"),
            "load balancers that the pool does not list are in use: lb-0",
        ),
    ],
)
def test_what_is_missing_is_said(seen: Picture, said: str) -> None:
    assert missing(seen, 2) == [said]


def test_an_explanation_names_only_some_pods() -> None:
    seen = picture(*(pod(name, state="Pending") for name in "abcde"))
    assert missing(seen, 5)[0] == "5 pods are not bound: a (Pending), b (Pending), c (Pending), ..."


def test_slots_are_told_in_one_order_whatever_that_of_the_api_server() -> None:
    slots = {"idle": 4, "reserved": 1, "total": 6, "used": 1}
    assert RunnerStatus.from_object({"status": {"slots": slots}}).slots_in_words.endswith(
        ": 1 used, 1 reserved, 4 idle"
    )
