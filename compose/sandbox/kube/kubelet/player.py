"""Follow all pods of an API, and take the steps of each pod, as scheduler and kubelet of one node."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from threading import Event, Thread
from typing import Any, Final

import orjson
import structlog

from berthmaster.clock import wall_clock
from compose.sandbox.kube.kubelet.node import Node
from compose.sandbox.kube.kubelet.pool import AddressPool
from compose.sandbox.kube.kubelet.runners import Runners, is_runner
from compose.sandbox.kube.kubelet.steps import AnswerDrain, Bind, End, Later, Pace, ReportStatus, Step, next_step
from compose.sandbox.kube.kubelet.timers import Key, Timers
from domain.kubernetes.names import SESSIONS
from events.kube.api import Conflict, Expired, Invalid, KubeApi, KubeError, NotFound, error_of_status

Json = dict[str, Any]
log = structlog.get_logger()
AGAIN: Final = 0.5
"""Seconds until a refused call is repeated."""
QUIET: Final = 60.0
"""Seconds after which a silent watch is opened again."""


class Player:
    """Simulates the pods. Call `start` and `stop`; neither blocks for long."""

    def __init__(
        self,
        api: KubeApi,
        node: str = "sandbox",
        pace: Pace | None = None,
        namespace: str = "",
        runners: Runners | None = None,
        threads: int = 4,
    ) -> None:
        """`namespace`: '' for all. `runners`: None means that pods of pod pools are simulated like all others."""
        self.path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
        self.api, self.node, self.pace, self.runners = api, Node(api, node), pace or Pace(), runners
        self.pods: dict[Key, Json] = {}
        self.sightings: dict[Key, tuple[str, bool, float]] = {}
        """UID of the pod, whether the pod is terminating, and the monotonic time since which both are so."""
        self.drawn: dict[str, list[str]] = {}
        """Addresses by UID. A pod gets its addresses once, and the watch shows the addresses only later."""
        self.addresses, self.timers, self.stopped = AddressPool(), Timers(), Event()
        loops = [self.follow, self.live, *[self.work] * threads]
        self.threads = [Thread(target=loop, name=loop.__name__, daemon=True) for loop in loops]

    def start(self) -> None:
        """Start the threads."""
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Stop the threads, then the processes of runners."""
        self.stopped.set()
        self.timers.close()
        for thread in self.threads:
            thread.join(5)
        if self.runners:
            self.runners.stop()

    def live(self) -> None:
        """Renew the node's Lease. Without renewals a real control plane evicts the node's pods."""
        while not self.stopped.is_set():
            try:
                self.node.beat()
            except KubeError as error:
                log.info("node_not_reported", error=str(error))
                self.stopped.wait(AGAIN)
                continue
            self.stopped.wait(Node.EVERY)

    def follow(self) -> None:
        """List and watch the pods until the player stops. Lists again after an error."""
        while not self.stopped.is_set():
            try:
                self.watch(self.list_pods())
            except KubeError as error:
                if not isinstance(error, Expired):
                    log.info("pods_not_followed", error=str(error))
                    self.stopped.wait(AGAIN)

    def list_pods(self) -> str:
        """List all pods. Returns the version to watch from."""
        reply = self.api.list(self.path)
        listed = {key_of(pod): pod for pod in reply["items"]}
        for key in self.pods.keys() - listed.keys():
            self.forget(key)
        for pod in listed.values():
            self.note(pod)
        return str(reply["metadata"]["resourceVersion"])

    def watch(self, version: str) -> None:
        """Watch, and resume where a stream ended. Raises KubeError."""
        while not self.stopped.is_set():
            for lines in self.api.lines(
                self.path, QUIET, resourceVersion=version, allowWatchBookmarks=True, timeoutSeconds=50
            ):
                if self.stopped.is_set():
                    return
                for line in lines:
                    version = self.hear(orjson.loads(line))

    def hear(self, event: Json) -> str:
        """Apply an event of the watch, and return its version. Raises KubeError for an ERROR event."""
        pod = event["object"]
        match event["type"]:
            case "ERROR":
                raise error_of_status(pod)
            case "DELETED":
                self.forget(key_of(pod))
            case "ADDED" | "MODIFIED":
                self.note(pod)
        return str(pod["metadata"]["resourceVersion"])

    def note(self, pod: Json) -> None:
        """Record the newest version of a pod, and schedule its next step."""
        key, terminating = key_of(pod), "deletionTimestamp" in pod["metadata"]
        self.addresses.note([entry["ip"] for entry in pod.get("status", {}).get("podIPs") or ()])
        before, self.pods[key] = self.pods.get(key), pod
        if before and uid_of(before) != uid_of(pod):
            self.end_process(before)
        if self.sightings.get(key, ("", False, 0.0))[:2] != (pod["metadata"]["uid"], terminating):
            self.sightings[key] = (pod["metadata"]["uid"], terminating, time.monotonic())
        self.timers.at(key)

    def forget(self, key: Key) -> None:
        """Remove everything of a deleted pod."""
        pod = self.pods.pop(key, {})
        self.end_process(pod)
        self.sightings.pop(key, None)
        drawn = self.drawn.pop(pod.get("metadata", {}).get("uid", ""), [])
        self.addresses.give_back([*drawn, *(entry["ip"] for entry in pod.get("status", {}).get("podIPs") or ())])

    def end_process(self, pod: Json) -> None:
        """End the process of a runner pod."""
        if self.runners and pod:
            self.runners.forget(pod["metadata"]["uid"])

    def draw(self, uid: str, families: Sequence[str]) -> list[str]:
        """Return the addresses of a pod. The first call takes them from the pool."""
        if uid not in self.drawn:
            self.drawn[uid] = self.addresses.take(families)
        return self.drawn[uid]

    def work(self) -> None:
        """Play pods that are due until the player stops."""
        while key := self.timers.take():
            try:
                self.play(key)
            except (NotFound, Conflict, Invalid):
                pass  # the name has another pod now, or the pod another version; the watch reports it
            except KubeError as error:
                log.info("pod_not_played", pod="/".join(key), error=str(error))
                self.timers.at(key, AGAIN)
            finally:
                self.timers.done(key)

    def play(self, key: Key) -> None:
        """Take the next step of a pod, or schedule it. Raises KubeError."""
        pod, sighting = self.pods.get(key), self.sightings.get(key)
        if pod is None or sighting is None:
            return
        now = wall_clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        draw = partial(self.draw, pod["metadata"]["uid"])
        age = time.monotonic() - sighting[2]
        step = next_step(pod, age, self.node.name, self.pace, draw, now)
        if self.runners and is_runner(pod):
            step = self.runners.next_step(pod, age, step, now)
            if uid_of(self.pods.get(key)) != uid_of(pod):
                self.end_process(pod)  # the pod was deleted while its process started
        if isinstance(step, Later):
            self.timers.at(key, step.seconds)
        elif step:
            self.take(pod, step)

    def take(self, pod: Json, step: Step) -> None:
        """Carry out a step of a pod. Raises KubeError."""
        name, namespace, uid = (pod["metadata"][field] for field in ("name", "namespace", "uid"))
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        match step:
            case Bind():
                target = {"apiVersion": "v1", "kind": "Node", "name": self.node.name}
                self.api.create(f"{path}/binding", {"metadata": {"name": name}, "target": target})
            case ReportStatus(status):
                # The status derives from this version. A later version has more, so the patch must conflict with it.
                version = pod["metadata"]["resourceVersion"]
                metadata = {"uid": uid, "resourceVersion": version}
                self.api.patch(f"{path}/status", {"metadata": metadata, "status": status})
            case AnswerDrain(sessions):
                self.api.patch(path, {"metadata": {"uid": uid, "annotations": {SESSIONS: sessions}}})
            case End():
                self.api.delete(path, {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})


def key_of(pod: Json) -> Key:
    """Return namespace and name of a pod."""
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def uid_of(pod: Json | None) -> str:
    """Return the UID of a pod, '' for None."""
    return pod["metadata"]["uid"] if pod else ""
