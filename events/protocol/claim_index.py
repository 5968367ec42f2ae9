"""An index from pods to claims: a change of a pod wakes its claims without a list of a namespace.

The index knows a claim by the label on its pod, and by the pod's name in the claim: a pod may lose the label before it
is gone. A claim's run writes the index before it reads the pod, so that no change is missed in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from redis import Redis

from berthmaster import routing
from berthmaster.names import is_name
from domain.kubernetes.names import CLAIM_SET, CLAIMED_BY
from domain.kubernetes.objects import KubeObject


def prefix(namespace: str) -> str:
    """Return the prefix of all keys about a namespace's claims; its hash tag puts them into one slot."""
    return f"{{claims:{namespace}}}"


def uids(namespace: str) -> str:
    """Return the key of a hash: UID of a claim -> its name."""
    return f"{prefix(namespace)}uids"


def namers(namespace: str, pod: str) -> str:
    """Return the key of a set: names of the claims that name this pod as theirs or as their source pod."""
    return f"{prefix(namespace)}pod:{pod}"


def sets(namespace: str) -> str:
    """Return the key of a hash: UID of a claim set -> its name."""
    return f"{prefix(namespace)}sets"


def concerned(redis: Redis, pods: Iterable[KubeObject]) -> set[str]:
    """Return the keys of the claims of these pods, and of their claim sets, in one round trip."""
    pipe, asked = redis.pipeline(transaction=False), []
    for pod in pods:
        asked.append(pod.namespace)
        pipe.hget(uids(pod.namespace), pod.labels.get(CLAIMED_BY, ""))
        pipe.smembers(namers(pod.namespace, pod.name))
        pipe.hget(sets(pod.namespace), pod.labels.get(CLAIM_SET, ""))
    replies: list[Any] = pipe.execute() if asked else []
    keys: set[str] = set()
    for namespace, labelled, named, of in zip(asked, replies[::3], replies[1::3], replies[2::3], strict=True):
        keys |= {routing.pod_claim_key(namespace, name) for name in names_of(*named, labelled)}
        keys |= {routing.pod_claim_set_key(namespace, name) for name in names_of(of)}
    return keys


def names_of(*stored: bytes | None) -> set[str]:
    """Return the stored names that are valid; an index may hold anything."""
    return {name for text in stored if text and is_name(name := text.decode(errors="replace"))}
