"""Many pods of one namespace on a Kubernetes API: made, asked to want a port at a rate, and observed by a watch.

Times are taken where a watch shows a version, for the request as well as for the result: what is between them is what
the fleet needed, not what the API server needed to take the request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any, Final

from compose.sandbox.kube.apply import apply
from domain.kubernetes.names import PORTS, PORTS_STATE
from events.kube.api import KubeApi, NotFound
from events.publisher.resources import pods
from events.publisher.watch import Batch, Listing, ResourceWatch
from events.settings import WatchSettings
from tests.support.waiting import eventually

NAMESPACE: Final = "games"
POOL: Final = "arena"
REQUEST: Final = f"game=7777/UDP@{POOL}"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
POOLS: Final = "/apis/berthmaster.dev/v1alpha1/portpools"
HANDS: Final = 8
"""Requests at a time."""


class Crowd:
    """`times` has for each state of the ports annotation, and for "asked", when each pod was first seen with it."""

    def __init__(self, api: KubeApi) -> None:
        self.api, self.stop, self.listed = api, Event(), Event()
        self.times: dict[str, dict[str, float]] = {"asked": {}}
        self.hands = ThreadPoolExecutor(HANDS)
        self.watcher = Thread(target=self.watch, daemon=True)

    def __enter__(self) -> Crowd:
        apply(self.api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        self.watcher.start()
        assert self.listed.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.hands.shutdown(cancel_futures=True)
        self.watcher.join(10)

    # ---- what they do

    def pool(self, **spec: Any) -> None:
        """Made, and reconciled once."""
        body = {"region": "us-east-1", "vpcId": "vpc-1", "startPort": 30000, "endPort": 30999, **spec}
        apply(self.api, [{"apiVersion": POOLS[6:-10], "kind": "PortPool", "metadata": {"name": POOL}, "spec": body}])
        eventually(lambda: self.api.get(f"{POOLS}/{POOL}").get("status", {}).get("state") == "Active", timeout=300)

    def make(self, count: int, prefix: str = "p") -> list[str]:
        """Running pods with addresses, which ask for nothing."""
        names = [f"{prefix}{number:05}" for number in range(count)]
        self.each(lambda numbered: self.run_pod(*numbered), list(enumerate(names)))
        return names

    def run_pod(self, number: int, name: str) -> None:
        spec = {"containers": [{"name": "main", "image": "none"}], "nodeName": "elsewhere"}
        self.api.create(PODS, {"metadata": {"name": name}, "spec": spec})
        ip = f"10.1.{number // 250}.{number % 250 + 1}"
        self.api.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}})

    def ask(self, names: Sequence[str], per_second: float | None = None) -> None:
        """Each to want a port, as fast as possible or at that rate; returns when the last was asked."""
        started = time.monotonic()

        def at_its_time(numbered: tuple[int, str]) -> None:
            number, name = numbered
            if per_second:
                time.sleep(max(0.0, started + number / per_second - time.monotonic()))
            self.api.patch(f"{PODS}/{name}", {"metadata": {"annotations": {PORTS: REQUEST}}})

        self.each(at_its_time, list(enumerate(names)))

    def end(self, names: Iterable[str]) -> None:
        self.each(self.delete, list(names))

    def delete(self, name: str) -> None:
        try:
            self.api.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})
        except NotFound:
            return

    def each(self, act: Callable[[Any], object], of: Sequence[Any]) -> None:
        list(self.hands.map(act, of))

    # ---- what was seen

    def watch(self) -> None:
        for change in ResourceWatch(self.api, pods(NAMESPACE), WatchSettings(), self.stop).follow():
            now = time.monotonic()
            if isinstance(change, Listing):
                self.listed.set()
            elif isinstance(change, Batch):
                for event in change.events:
                    self.note(event["object"]["metadata"], now)

    def note(self, meta: dict[str, Any], now: float) -> None:
        notes = meta.get("annotations") or {}
        if PORTS in notes:
            self.times["asked"].setdefault(meta["name"], now)
        if state := notes.get(PORTS_STATE):
            self.times.setdefault(state, {}).setdefault(meta["name"], now)

    def seen(self, state: str) -> dict[str, float]:
        return self.times.get(state, {})

    def wait_for(self, state: str, names: Iterable[str], timeout: float, check: Callable[[], object] = bool) -> None:
        """`check` is called now and then and may raise."""
        wanted = set(names)

        def complete() -> bool:
            check()
            return wanted <= self.seen(state).keys()

        eventually(complete, timeout, every=0.05)
