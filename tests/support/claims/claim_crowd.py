"""Tenants that create, move and delete claims, and the workload that answers when its pod drains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from threading import Event, Thread
from typing import Any, Final
from zlib import crc32

from domain.kubernetes.names import DRAIN, SESSIONS
from events.kube.api import KubeApi, KubeError, NotFound
from tests.support.jobs.runner_pods import pods_of_pools

Json = dict[str, Any]
ROOT: Final = "/apis/berthmaster.dev/v1alpha1/namespaces"
API: Final = "berthmaster.dev/v1alpha1"


class ClaimCrowd:
    """Creates, moves and deletes claims on pool `pool`. `killed` has the UIDs of pods that it deleted by force."""

    def __init__(self, api: KubeApi, namespace: str, pool: str, chance: Random) -> None:
        self.api, self.pool, self.chance = api, pool, chance
        self.claims_path, self.sets_path = f"{ROOT}/{namespace}/podclaims", f"{ROOT}/{namespace}/podclaimsets"
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self.made = 0
        self.killed: set[str] = set()

    def make(self, count: int = 1) -> None:
        for _ in range(count):
            self.made += 1
            by_label = self.chance.random() < 0.3
            target: Json = {"selector": {"app": "db"}} if by_label else {"poolName": self.pool}
            owner = f"tenant-{self.chance.randrange(20)}"
            spec = {**target, "ownerName": owner, "additionalPodLabels": {"tenant": owner}}
            self._create(self.claims_path, "PodClaim", f"claim-{self.made}", spec)

    def make_set(self, name: str, replicas: int) -> None:
        labels = {"set": name}
        template = {"metadata": {"labels": labels}, "spec": {"poolName": self.pool, "ownerName": name}}
        self._create(
            self.sets_path, "PodClaimSet", name, {"replicas": replicas, "selector": labels, "template": template}
        )

    def _create(self, path: str, kind: str, name: str, spec: Json) -> None:
        self.api.create(path, {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec})

    def scale(self, name: str, replicas: int) -> None:
        self.api.patch(f"{self.sets_path}/{name}", {"spec": {"replicas": replicas}})

    def claims(self) -> list[Json]:
        items: list[Json] = self.api.list(self.claims_path)["items"]
        return items

    def pods(self) -> list[Json]:
        items: list[Json] = self.api.list(self.pods_path, labelSelector="berthmaster.dev/pool")["items"]
        return items

    def delete(self) -> None:
        """Delete a claim that belongs to no set."""
        if claim := self._any(lambda claim: not claim["metadata"].get("ownerReferences")):
            self._delete(f"{self.claims_path}/{claim['metadata']['name']}")

    def delete_all(self) -> None:
        for path in (self.sets_path, self.claims_path):
            for body in self.api.list(path)["items"]:
                self._delete(f"{path}/{body['metadata']['name']}")

    def move(self) -> None:
        """Move a claim to any pod: free, taken, draining, or one that does not exist."""
        claim = self._any(lambda claim: claim["spec"].get("podName") and "sourcePod" not in claim["spec"])
        pods = [pod["metadata"]["name"] for pod in self.pods()]
        if claim is None or not pods:
            return
        source, target = claim["spec"]["podName"], self.chance.choice([*pods, "nowhere"])
        if target != source:
            version = claim["metadata"]["resourceVersion"]
            spec = {"podName": target, "sourcePod": {"podName": source}}
            patch = {"metadata": {"resourceVersion": version}, "spec": spec}
            self.api.patch(f"{self.claims_path}/{claim['metadata']['name']}", patch)

    def kill_pod(self) -> None:
        """Delete a pod by force, as an eviction or the loss of a node does."""
        pods = self.pods()
        if pods:
            meta = self.chance.choice(pods)["metadata"]
            self.killed.add(meta["uid"])
            self._delete(f"{self.pods_path}/{meta['name']}", {"gracePeriodSeconds": 0})

    def fail_pod(self) -> None:
        pods = self.pods()
        if pods:
            meta = self.chance.choice(pods)["metadata"]
            self.api.patch(f"{self.pods_path}/{meta['name']}/status", {"status": {"phase": "Failed"}})

    def _any(self, fits: Any) -> Json | None:
        claims = [claim for claim in self.claims() if "deletionTimestamp" not in claim["metadata"] and fits(claim)]
        return self.chance.choice(claims) if claims else None

    def _delete(self, path: str, options: Json | None = None) -> None:
        with suppress(NotFound):
            self.api.delete(path, options)


@contextmanager
def workload(api: KubeApi, namespace: str, chance: Random) -> Iterator[None]:
    """Answer for the workload of each pod: it reports `1` session for a while, then `0`. Some pods never answer."""
    stop = Event()
    path = f"/api/v1/namespaces/{namespace}/pods"

    def answer(pod: Json) -> None:
        notes = pod["metadata"].get("annotations") or {}
        asked, said = notes.get(DRAIN, ""), notes.get(SESSIONS, "")
        if not asked or said == f"0 {asked}" or crc32(asked.encode()) % 7 == 0:
            return
        left = 0 if said == f"1 {asked}" or chance.random() < 0.5 else 1
        api.patch(f"{path}/{pod['metadata']['name']}", {"metadata": {"annotations": {SESSIONS: f"{left} {asked}"}}})

    def live() -> None:
        for pods in pods_of_pools(api, path, stop):
            for pod in pods.values():
                with suppress(KubeError):
                    answer(pod)

    thread = Thread(target=live, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)
