"""`berthmaster release NAMESPACE/CLAIM`: give a claimed pod back, and say whether that was done."""

from __future__ import annotations

import time
from typing import Any, Final

from berthmaster.routing import pod_claim_key
from events.workqueue import Snapshot, Workqueue
from workers.cli.claiming import ask, ask_queue
from workers.cli.claims import Claim, parts_or_exit
from workers.cli.deciding import PATIENCE, Trial
from workers.cli.doctor import AsJson
from workers.cli.jobs import refused
from workers.cli.output import say, say_json

DOWN: Final = "berthmaster doctor says what is down"


def release(name: Claim, dry_run: Trial = False, as_json: AsJson = False) -> None:
    """Give back a pod that `berthmaster claim` or a service has claimed. Exit status 1 if there is no such claim.

    Exit status 1 also for a claim that somebody else has made: delete that one by kubectl.
    """
    namespace, short = parts_or_exit(name, "CLAIM")
    key = pod_claim_key(namespace, short)
    before = ask_queue(lambda queue: present(queue, key, name))
    why = why_not(before, f"kubectl delete podclaim {short} -n {namespace}")
    if not why and not dry_run:
        why = carried_out(name, key, before)
    if as_json:
        pod = before.body.get("spec", {}).get("podName") or ""
        document: dict[str, Any] = {"claim": name, "pod": pod, "done": not (why or dry_run), "why": why}
        say_json(document)
    if why:
        raise refused(f"{name}: {why}")
    if not as_json:
        say(f"{name} could be released" if dry_run else f"{name} is released")


def present(queue: Workqueue, key: str, name: str) -> Snapshot:
    """Return the claim as the publisher saw it last. Prints that there is none, or nobody knows, and exits."""
    claim = queue.snapshot(key)
    if claim is not None and not claim.gone:
        return claim
    if queue.is_absent(key):
        raise refused(f"there is no claim {name}: berthmaster status lists all")
    raise refused(f"nobody knows yet whether there is a claim {name}, as no publisher has listed them: {DOWN}")


def why_not(claim: Snapshot, otherwise: str) -> str:
    """Return why a claim cannot be released, '' if it can. `otherwise`: the command for a claim of somebody else."""
    if claim.body.get("deleting"):
        return "it is being deleted already"
    if not claim.body.get("requested"):
        return f"somebody else has made it, neither berthmaster claim nor a service: {otherwise}"
    return ""


def carried_out(name: str, key: str, before: Snapshot) -> str:
    """Send the release, and wait for a worker. Returns why the claim is still there, '' if it goes."""
    if not ask(lambda fleet: fleet.release(name)):
        return "the broker does not accept it: berthmaster doctor says why"
    left = ask_queue(lambda queue: is_left(queue, key, before.uid))
    return f"no worker has done it within {PATIENCE:g} s: {DOWN}" if left else ""


def is_left(queue: Workqueue, key: str, uid: str, patience: float = PATIENCE) -> bool:
    """Wait until the claim goes, for `patience` seconds at most. Returns whether it is still there."""
    until = time.monotonic() + patience
    while left := is_there(queue.snapshot(key), uid):
        if time.monotonic() >= until:
            break
        time.sleep(0.1)
    return left


def is_there(claim: Snapshot | None, uid: str) -> bool:
    """Tell whether this is a claim of the UID that nobody has deleted."""
    return claim is not None and claim.uid == uid and not claim.gone and not claim.body.get("deleting")
