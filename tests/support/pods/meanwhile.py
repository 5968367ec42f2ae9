"""A run of a pod pool that is suspended right before one of its requests, while others work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from events.kube.api import KubeApi
from tests.support.faults.interposed_kube import Happens, InterposedKube
from tests.support.pods.pod_pool_world import PodPoolWorld

PODS = "/pods/"


def standing_still(pool: PodPoolWorld, method: str, work: Happens) -> None:
    """Run the pool. Right before its first such request to a pod its lease ends, and others `work`."""
    meanwhile(pool, work, lambda happens: InterposedKube(pool.api, method, PODS, happens))


def meanwhile(pool: PodPoolWorld, work: Happens, kube: Callable[[Happens], InterposedKube]) -> None:
    """Run the pool while others `work`. An error of `work` would only end the run, so it is raised after it."""
    whole, errors = pool.services, list[Exception]()

    def happens(path: str) -> None:
        pool.services = whole
        pool.lease_ends()
        try:
            work(path.rpartition("/")[2])
        except Exception as error:
            errors.append(error)
            raise

    stands = kube(happens)
    pool.services = replace(whole, kube=stands)
    pool.run()
    pool.services = whole
    for error in errors:
        raise error
    assert not stands.left, "it never came to that request"


def live(pool: PodPoolWorld) -> set[str]:
    return {pod["metadata"]["name"] for pod in pool.pods() if "deletionTimestamp" not in pod["metadata"]}


def pod_of(pool: PodPoolWorld, name: str) -> dict[str, Any]:
    (pod,) = (pod for pod in pool.pods() if pod["metadata"]["name"] == name)
    return pod


def fill(pool: PodPoolWorld, jobs: int = 2) -> None:
    for n in range(jobs):
        pool.slots.submit(f"j{n}", "apply")
    pool.slots.deliver_all()


def states(pool: PodPoolWorld, jobs: int = 2) -> list[str]:
    pool.slots.deliver_all()
    return [pool.slots.state(f"j{n}") for n in range(jobs)]


def keep_terminating(pool: PodPoolWorld, name: str) -> None:
    """A pod without a node would be gone at once on a real API server."""
    pool.api.patch(pool.pod_path(name), {"metadata": {"finalizers": ["test.berthmaster.dev/stay"]}})


def let_go(pool: PodPoolWorld, name: str) -> None:
    pool.api.patch(pool.pod_path(name), {"metadata": {"finalizers": None}})


class AfterList(InterposedKube):
    """`happens` is called after the first list of pods was answered."""

    def __init__(self, api: KubeApi, happens: Happens) -> None:
        super().__init__(api, "", "", happens)

    def list(self, path: str, **query: Any) -> dict[str, Any]:
        page = super().list(path, **query)
        if self.left:
            self.left -= 1
            self._happens(path)
        return page
