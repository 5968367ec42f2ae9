"""One fleet a test: its own namespace, cluster name and pools, on shared servers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from redis import Redis

from events.kube_api import KubeError
from tests.fixtures.aws import Aws
from tests.fixtures.kube import Kube
from tests.support.fleet import Fleet
from workers.kube.port_pools import PATH


@pytest.fixture
def fleet(redis: Redis, kube: Kube, crds: None, aws: Aws) -> Iterator[Fleet]:
    made = Fleet(redis, kube.api, kube.namespace, aws.driver(), aws.ids, cluster=f"c{uuid.uuid4().hex[:8]}")
    yield made
    for pool in kube.api.list(PATH)["items"]:
        name = pool["metadata"]["name"]
        try:
            kube.api.patch(f"{PATH}/{name}", {"metadata": {"finalizers": None}})
            kube.api.delete(f"{PATH}/{name}")
        except KubeError:
            pass
