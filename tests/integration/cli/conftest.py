"""Where the commands look."""

from __future__ import annotations

import pytest

from tests.fixtures.kube import SandboxKube
from tests.support.command_line import places_of


@pytest.fixture
def places(kube_sandbox: SandboxKube, crds_sandbox: None, redis_url: str) -> dict[str, str]:
    """The tests' own Redis and the sandbox's Kubernetes API, which serves our kinds."""
    return places_of(kube_sandbox, redis_url)
