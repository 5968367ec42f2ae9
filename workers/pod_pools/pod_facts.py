"""What follows from a version of a pod alone, derived once: of pods that did not change, a run derives nothing anew."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, TypeVar

from domain.kubernetes.objects import Pod

T = TypeVar("T")


class PodFacts:
    """The facts of the pods of one pool, each for the very JSON that it was derived from."""

    def __init__(self) -> None:
        self._derived: dict[str, tuple[Mapping[str, Any], dict[Callable[[Pod], Any], Any]]] = {}

    def of(self, pod: Pod, derive: Callable[[Pod], T]) -> T:
        """Return `derive(pod)`. The function must depend on nothing else, and must be the same object each time."""
        entry = self._derived.get(pod.uid)
        if entry is None or entry[0] is not pod.raw:
            entry = self._derived[pod.uid] = pod.raw, {}
        facts = entry[1]
        if derive not in facts:
            facts[derive] = derive(pod)
        fact: T = facts[derive]
        return fact

    def forget_others(self, uids: Container[str]) -> None:
        """Forget all pods but these."""
        for uid in [uid for uid in self._derived if uid not in uids]:
            del self._derived[uid]
