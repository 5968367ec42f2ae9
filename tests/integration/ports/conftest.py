"""One fleet a test: its own namespace, cluster name and pools, on shared servers."""

from __future__ import annotations

import uuid

import pytest
from redis import Redis

from tests.fixtures.aws import Aws
from tests.fixtures.kube import Kube
from tests.support.ports.fleet import Fleet


@pytest.fixture
def fleet(redis: Redis, kube: Kube, crds: None, aws: Aws) -> Fleet:
    return Fleet(redis, kube.api, kube.namespace, aws.driver(), aws.ids, cluster=f"c{uuid.uuid4().hex[:8]}")
