"""A kind made up for these tests: its definition takes seconds to be served, so that it is made once a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compose.sandbox.kube.server import KubeServer
from tests.contract.kube.definitions import Thing, served_thing


@pytest.fixture(scope="session")
def thing(kube_server: KubeServer) -> Iterator[Thing]:
    with served_thing(kube_server.api()) as found:
        yield found
