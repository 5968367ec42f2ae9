"""Checks every version of pods and claims, in the order in which the server wrote them.

The server numbers the changes of all kinds with one counter, so that what a pod was when a claim changed is known
exactly, and not only as often as somebody looks.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any, Final

import orjson

from domain.kubernetes.names import CLAIMED_BY, PHASE, POOL
from events.kube.api import KubeApi, KubeError

Json = dict[str, Any]
CLAIMS: Final = "podclaims"
PODS: Final = "pods"
LONG: Final = 3600
"""Seconds of a watch, longer than a test: who begins again may find that the server has forgotten the version."""
ALLOWED: Final = {
    "": {"Unknown", "Idle"},
    "Unknown": {"Idle", "Terminating"},
    "Idle": {"Bound", "Terminating"},
    "Bound": {"Draining", "Terminating"},
    "Draining": {"Idle", "Terminating"},
    "Terminating": set(),
}


@dataclass(frozen=True)
class Version:
    """A version of an object. `gone`: the object was deleted in this version."""

    number: int
    kind: str
    body: Json
    gone: bool = False

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])


def phase_of(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(PHASE, ""))


def holder_of(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(CLAIMED_BY, ""))


class ClaimHistory:
    """Follows a namespace while the context is open, by a client of its own, and misses no version."""

    def __init__(self, api: KubeApi, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._versions: list[Version] = []
        self._lock, self._stop = Lock(), Event()
        own = f"/apis/berthmaster.dev/v1alpha1/namespaces/{namespace}/{CLAIMS}"
        paths = {PODS: f"/api/v1/namespaces/{namespace}/pods", CLAIMS: own}
        self._threads = [Thread(target=self._follow, args=pair, daemon=True) for pair in paths.items()]
        self.missed = 0

    def __enter__(self) -> ClaimHistory:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(10)

    def versions(self) -> list[Version]:
        with self._lock:
            return sorted(self._versions, key=lambda version: version.number)

    def _follow(self, kind: str, path: str) -> None:
        version = ""
        while not self._stop.is_set():
            with suppress(KubeError):
                version = version or self._list(kind, path)
                version = self._watch(kind, path, version)

    def _list(self, kind: str, path: str) -> str:
        listed = self._api.list(path)
        for body in listed["items"]:
            self._keep(Version(_number(body), kind, body))
        return str(listed["metadata"]["resourceVersion"])

    def _watch(self, kind: str, path: str, version: str) -> str:
        """Return the version to continue from; '' when the server has forgotten it."""
        asked: Json = {"resourceVersion": version, "allowWatchBookmarks": True, "timeoutSeconds": LONG}
        for lines in self._api.lines(path, LONG, **asked):
            for event in map(orjson.loads, lines):
                if event["type"] == "ERROR":
                    self.missed += 1
                    return ""
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._keep(Version(int(version), kind, event["object"], event["type"] == "DELETED"))
            if self._stop.is_set():
                break
        return version

    def _keep(self, version: Version) -> None:
        if version.kind == CLAIMS or POOL in (version.body["metadata"].get("labels") or {}):
            with self._lock:
                self._versions.append(version)


def _number(body: Json) -> int:
    return int(body["metadata"]["resourceVersion"])


@dataclass
class Judge:
    """Replays versions. `excused` has the UIDs of pods that somebody else deleted."""

    excused: set[str]
    pods: dict[str, Json] = field(default_factory=dict)
    claims: dict[str, Json] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def judge(self, versions: list[Version]) -> list[str]:
        for version in versions:
            if version.kind == CLAIMS:
                self._claim(version)
            else:
                self._pod(version)
        return self.faults

    def _claim(self, version: Version) -> None:
        """I2: no two claims that have settled name one pod."""
        self.claims[version.uid] = version.body
        if version.gone:
            del self.claims[version.uid]
            return
        if pod := settled_on(version.body):
            others = [c for uid, c in self.claims.items() if uid != version.uid and settled_on(c) == pod]
            for other in others:
                names = f"{version.body['metadata']['name']} and {other['metadata']['name']}"
                self.faults.append(f"at {version.number} {names} name pod {pod}")

    def _pod(self, version: Version) -> None:
        body, before = version.body, self.pods.get(version.uid, {"metadata": {}})
        self._goes(version, before)
        was, now = phase_of(before), phase_of(body)
        name = f"at {version.number} pod {body['metadata']['name']}"
        if was != now:
            self.seen[f"{was or 'new'}->{now}"] += 1
            if now not in ALLOWED.get(was, set()):
                self.faults.append(f"{name} went from {was!r} to {now!r}")
        if holder_of(before) and holder_of(body) and holder_of(before) != holder_of(body):
            self.faults.append(f"{name} went from one claim to another")
        if bool(holder_of(body)) != (now == "Bound"):
            self.faults.append(f"{name} is {now} and carries the claim {holder_of(body)!r}")
        self.pods[version.uid] = body
        if version.gone:
            del self.pods[version.uid]

    def _goes(self, version: Version, before: Json) -> None:
        """I4: nobody deletes a pod that a live claim names."""
        goes = version.gone or "deletionTimestamp" in version.body["metadata"]
        if not goes or "deletionTimestamp" in before["metadata"] or version.uid in self.excused:
            return
        claim = self.claims.get(holder_of(version.body))
        if claim and phase_of(version.body) == "Bound" and settled_on(claim) == version.body["metadata"]["name"]:
            self.faults.append(f"at {version.number} pod {settled_on(claim)} was deleted under its claim")


def settled_on(claim: Json) -> str:
    """Return the pod of a live claim; '' if it has none, moves or is being deleted."""
    spec = claim.get("spec") or {}
    moves = "sourcePod" in spec or "deletionTimestamp" in claim["metadata"]
    return "" if moves else str(spec.get("podName") or "")
