"""Decide the next step of the simulated kubelet from the pod alone.

Annotations of the pod steer the steps (prefix `sandbox.berthmaster.dev/`): `start-delay` (seconds until the pod runs),
`ready: "false"` (the pod runs, but is not Ready), `ip` (the pod's addresses, separated by commas; may change while the
pod runs), `ip-families` (`IPv4`, `IPv6` or both, in order), `sessions` (the pod's answer when a pod pool drains it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from domain.kubernetes.names import DRAIN, SESSIONS

Json = dict[str, Any]
PREFIX: Final = "sandbox.berthmaster.dev/"


@dataclass(frozen=True)
class Pace:
    """The times of simulated pods, in seconds."""

    start: float = 0.3
    """Until a new pod is Running and Ready."""
    longest_grace: float = 1.0
    """A terminating pod ends after its own grace period, but no later than this."""


@dataclass(frozen=True)
class Bind:
    """Bind the pod to the node."""


@dataclass(frozen=True)
class ReportStatus:
    """Patch the status of the pod."""

    status: Json


@dataclass(frozen=True)
class End:
    """Delete the pod for good."""


@dataclass(frozen=True)
class Later:
    """Look again after `seconds`."""

    seconds: float


@dataclass(frozen=True)
class AnswerDrain:
    """Patch the annotation with the number of the pod's sessions."""

    sessions: str


Step = Bind | ReportStatus | End | Later | AnswerDrain
Addresses = Callable[[Sequence[str]], list[str]]
"""Returns one address for each of the families."""


def option(pod: Json, name: str) -> str:
    """Return the value of a steering annotation, '' if it is missing."""
    return str((pod["metadata"].get("annotations") or {}).get(PREFIX + name, ""))


def next_step(pod: Json, age: float, node: str, pace: Pace, fresh: Addresses, now: str) -> Step | None:
    """Return the next step, or None. `age`: seconds since the pod or its deletion appeared. `now`: a timestamp."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    if metadata.get("deletionTimestamp"):
        ends = min(float(metadata.get("deletionGracePeriodSeconds") or 0), pace.longest_grace)
        mine = spec.get("nodeName") == node
        return None if not mine else End() if age >= ends else Later(ends - age)
    if not spec.get("nodeName"):
        return None if spec.get("schedulingGates") else Bind()
    if spec["nodeName"] != node or status.get("phase") not in ("Pending", "Running"):
        return None
    starts = float(option(pod, "start-delay") or pace.start)
    if status["phase"] == "Pending" and age < starts:
        return Later(starts - age)
    wanted = running(pod, status, fresh, now)
    return ReportStatus(wanted) if wanted != status else answer(pod)


def answer(pod: Json) -> AnswerDrain | None:
    """Return the answer to a drain that asks for the number of sessions, or None."""
    notes = pod["metadata"].get("annotations") or {}
    said = f"{option(pod, 'sessions')} {notes.get(DRAIN, '')}"
    asked = notes.get(DRAIN) and option(pod, "sessions")
    return AnswerDrain(said) if asked and notes.get(SESSIONS) != said else None


def running(pod: Json, status: Json, fresh: Addresses, now: str) -> Json:
    """Return the status of a running pod, equal to `status` if nothing changes."""
    ips = addresses(pod, status, fresh)
    ready = option(pod, "ready") != "false"
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    statuses = {condition["type"]: condition["status"] for condition in status.get("conditions") or ()}
    flags = {
        "PodScheduled": True,
        "Initialized": True,
        "ContainersReady": ready,
        "Ready": ready and all(statuses.get(gate) == "True" for gate in gates),
    }
    conditions = list(status.get("conditions") or ())
    for kind, flag in flags.items():
        conditions = with_condition(conditions, kind, str(flag), now)
    return status | {
        "phase": "Running",
        "conditions": conditions,
        "hostIP": "127.0.0.1",
        "podIP": ips[0],
        "podIPs": [{"ip": ip} for ip in ips],
        "startTime": status.get("startTime") or now,
    }


def addresses(pod: Json, status: Json, fresh: Addresses) -> list[str]:
    """Return the addresses of a pod: from its annotation, else from its status, else fresh ones."""
    if given := option(pod, "ip"):
        return [ip.strip() for ip in given.split(",")]
    present = [entry["ip"] for entry in status.get("podIPs") or ()]
    return present or fresh([family.strip() for family in (option(pod, "ip-families") or "IPv4").split(",")])


def with_condition(conditions: list[Json], kind: str, status: str, now: str) -> list[Json]:
    """Return the conditions with one of them set. An equal condition keeps the time of its last change."""
    current = next((condition for condition in conditions if condition["type"] == kind), None)
    if current and current["status"] == status:
        return conditions
    fresh = {"type": kind, "status": status, "lastTransitionTime": now}
    return [*(condition for condition in conditions if condition["type"] != kind), fresh]
