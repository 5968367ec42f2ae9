"""A real API server for the manifests alone: what they leave behind would be in the way of other tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from compose.sandbox.kube.real import RealKube
from events.kube.api import KubeApi
from tests.fixtures.kube import Kustomize
from tests.support.deployed import kubectl

Kubectl = Callable[..., str]


@pytest.fixture(scope="package")
def cluster(kustomize: Kustomize, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKube]:
    server = RealKube(tmp_path_factory.mktemp("cluster")).start()
    yield server
    server.stop()


@pytest.fixture(scope="package")
def admin(cluster: RealKube) -> Iterator[KubeApi]:
    with closing(cluster.api()) as api:
        yield api


@pytest.fixture(scope="package")
def kubectl_admin(cluster: RealKube) -> Kubectl:
    place = [f"--kubeconfig={cluster.kubeconfig}", f"--cache-dir={cluster.directory / 'kubectl'}"]

    def run(*arguments: str, told: str | None = None) -> str:
        return kubectl(*place, *arguments, told=told)

    return run
