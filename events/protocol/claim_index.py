"""Which claims a pod concerns, so that a change of one wakes them without listing a namespace.

By the label that it carries, and by the name under which a claim knows it: a pod may lose the label before it goes.
Runs of claims write the index before they read the pod, so that no change falls between.
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
    """What keys about the claims of a namespace begin with, so that all are in one slot."""
    return f"{{claims:{namespace}}}"


def uids(namespace: str) -> str:
    """Key of a hash: UID of a claim -> its name."""
    return f"{prefix(namespace)}uids"


def namers(namespace: str, pod: str) -> str:
    """Key of a set: names of the claims that name this pod, as theirs or as the one that they leave."""
    return f"{prefix(namespace)}pod:{pod}"


def sets(namespace: str) -> str:
    """Key of a hash: UID of a set of claims -> its name."""
    return f"{prefix(namespace)}sets"


def concerned(redis: Redis, pods: Iterable[KubeObject]) -> set[str]:
    """Keys of the claims that any of these pods concerns, and of their sets; one round trip."""
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
    """Without what is none: an index may hold anything."""
    return {name for text in stored if text and is_name(name := text.decode(errors="replace"))}
