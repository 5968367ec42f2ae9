"""Runs of a claim that pause or die right before a request, while others work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from events.kube.api import KubeApi
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.faults.interruption import Killed

POD, CLAIM = "/pods/", "/podclaims/"


def standing_still(world: ClaimWorld, method: str, part: str, work: Callable[[], object], name: str = "a") -> None:
    """Run the claim. Right before its first such request its lease ends, and others do `work`."""
    errors = list[Exception]()

    def happens(_: str) -> None:
        world.lease_ends(name)
        try:
            work()
        except Exception as error:
            errors.append(error)
            raise

    kube = InterposedKube(world.api, method, part, happens)
    world.run(name, services=world.on(kube))
    for error in errors:
        raise error
    assert not kube.left, "it never came to that request"


class Dying(KubeApi):
    """A worker that is killed at its n-th write (from 0), before the write or before its answer."""

    def __init__(self, api: KubeApi, at: int, *, after: bool) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self._at, self._after, self.writes = at, after, 0

    def request(self, method: str, path: str, *args: Any, **options: Any) -> dict[str, Any]:
        if method == "GET":
            return super().request(method, path, *args, **options)
        mine, self.writes = self.writes, self.writes + 1
        if mine == self._at and not self._after:
            raise Killed
        answer = super().request(method, path, *args, **options)
        if mine == self._at:
            raise Killed
        return answer
