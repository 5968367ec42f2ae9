"""An index from pods to claims: a change of a pod wakes its claims without a list of a namespace.

The index knows a claim by the label on its pod, and by the pod's name in the claim: a pod may lose the label before it
is gone. A claim's run writes the index before it reads the pod, so that no change is missed in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from redis import Redis

from berthmaster import routing
from berthmaster.names import is_name
from berthmaster.redis.scripts import Script
from domain.kubernetes.names import CLAIM_SET, CLAIMED_BY, TOUCHED
from domain.kubernetes.objects import KubeObject

LUA: Final = Path(__file__).parent / "lua"
TRIES: Final = b"~"


def prefix(namespace: str) -> str:
    """Return the prefix of all keys about a namespace's claims; its hash tag puts them into one slot."""
    return f"{{claims:{namespace}}}"


def uids(namespace: str) -> str:
    """Return the key of a hash: UID of a claim -> its name."""
    return f"{prefix(namespace)}uids"


def namers(namespace: str, pod: str) -> str:
    """Return the key of a set: names of the claims that name this pod as theirs or as their source pod; `~name` is a
    claim that was about to take the pod.
    """
    return f"{prefix(namespace)}pod:{pod}"


def tries(member: bytes) -> bool:
    """Tell whether this member of `namers` is a claim that was about to take the pod, and may not have got it."""
    return member.startswith(TRIES)


def sets(namespace: str) -> str:
    """Return the key of a hash: UID of a claim set -> its name."""
    return f"{prefix(namespace)}sets"


def own_event_script(redis: Redis) -> Script:
    """Return the script that tells the event of a claim's own write. Reads a file: call this once a process."""
    return Script(redis, "own_event", LUA)


def concerned(redis: Redis, pods: Iterable[KubeObject], own_event: Script | None = None) -> set[str]:
    """Return the keys of the claims of these pods, and of their claim sets, in one round trip.

    `own_event`: the pods are events, each told once. A claim is left out that has written this version itself and knows
    it (rule expected).
    """
    pipe, asked = redis.pipeline(transaction=False), list(pods)
    call = own_event.batch(pipe) if own_event else None
    for pod in asked:
        uid = pod.labels.get(CLAIMED_BY, "")
        pipe.hget(uids(pod.namespace), uid)
        pipe.smembers(namers(pod.namespace, pod.name))
        pipe.hget(sets(pod.namespace), pod.labels.get(CLAIM_SET, ""))
        if call:
            call([prefix(pod.namespace)], (pod.name, str(pod.version), uid, pod.annotations.get(TOUCHED, "")))
    replies, keys = iter(pipe.execute() if asked else ()), set[str]()
    for pod in asked:
        labelled, named, of = next(replies), next(replies), next(replies)
        own = next(replies)[1:] if call else ()
        keys |= {routing.pod_claim_key(pod.namespace, name) for name in names_of(*named, labelled) - names_of(*own)}
        keys |= {routing.pod_claim_set_key(pod.namespace, name) for name in names_of(of)}
    return keys


def names_of(*stored: bytes | None) -> set[str]:
    """Return the stored names that are valid; an index may hold anything."""
    names = (text.removeprefix(TRIES).decode(errors="replace") for text in stored if text)
    return {name for name in names if is_name(name)}
