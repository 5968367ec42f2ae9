"""One fleet a test: its own namespace, cluster name and pools, on shared servers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress

import pytest
from redis import Redis

from events.kube_api import KubeApi, KubeError
from tests.fixtures.aws import Aws
from tests.fixtures.kube import Kube
from tests.support.fleet import Fleet
from tests.support.waiting import eventually
from workers.kube.port_pools import PATH


@pytest.fixture
def fleet(redis: Redis, kube: Kube, crds: None, aws: Aws) -> Iterator[Fleet]:
    made = Fleet(redis, kube.api, kube.namespace, aws.driver(), aws.ids, cluster=f"c{uuid.uuid4().hex[:8]}")
    yield made
    eventually(lambda: no_pools(kube.api), 30)


def no_pools(api: KubeApi) -> bool:
    """Pools are the whole server's: one that stays is in the way of the next test."""
    with suppress(KubeError):
        for pool in api.list(PATH)["items"]:
            api.patch(f"{PATH}/{pool['metadata']['name']}", {"metadata": {"finalizers": None}})
            api.delete(f"{PATH}/{pool['metadata']['name']}")
        return bool(api.list(PATH)["items"] == [])
    return False
