"""Where commands find a real Redis and the sandbox's Kubernetes API."""

from __future__ import annotations

import pytest

from tests.fixtures.kube import SandboxKube


@pytest.fixture
def places(kube_sandbox: SandboxKube, crds_sandbox: None, redis_url: str) -> dict[str, str]:
    del crds_sandbox  # only its doing is wanted
    settings = kube_sandbox.settings
    token = settings.token.get_secret_value() if settings.token else ""
    return {
        "BERTHMASTER_REDIS__URL": redis_url,
        "BERTHMASTER_KUBERNETES__SERVER": settings.server or "",
        "BERTHMASTER_KUBERNETES__TOKEN": token,
    }
