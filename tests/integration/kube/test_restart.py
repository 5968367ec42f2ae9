"""What survives the end of the sandbox's API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from compose.sandbox.kube.apply import apply
from compose.sandbox.kube.small import SmallKube
from events.kube.api import Expired, Unavailable, error_of_status
from tests.contract.kube.definitions import Thing, definition
from tests.contract.kube.objects import pod, version_of

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SmallKube]:
    server = SmallKube(tmp_path, "--history", "10").start()
    yield server
    server.stop()


def test_objects_kinds_and_versions_survive_a_kill(server: SmallKube) -> None:
    api = server.api()
    apply(api, [definition("things", "Thing")])
    api.create(PODS, pod("kept"))
    api.create(PODS, pod("deleted"))
    api.delete(f"{PODS}/deleted")
    before = api.list(PODS)
    server.daemon.kill()
    with pytest.raises(Unavailable) as raised:
        api.list(PODS)
    assert raised.value.status == 0
    server.start()
    after = api.list(PODS)
    assert after["items"] == before["items"]
    assert int(version_of(after)) >= int(version_of(before))
    made = api.create("/apis/things.dev/v1alpha1/namespaces/default/things", Thing("things", "Thing").body())
    assert int(version_of(made)) > int(version_of(before))


@pytest.mark.row("EV-01")
def test_a_watch_from_before_a_restart_or_from_beyond_the_history_is_expired(server: SmallKube) -> None:
    api = server.api()
    version = version_of(api.create(PODS, pod("a")))
    for index in range(30):
        api.patch(f"{PODS}/a", {"metadata": {"labels": {"n": str(index)}}})
    assert expired(server, version)
    last = version_of(api.patch(f"{PODS}/a", {"metadata": {"labels": {"n": "last"}}}))
    assert not expired(server, last)
    api.patch(f"{PODS}/a", {"metadata": {"labels": {"n": "more"}}})
    server.stop()
    server.start()
    assert expired(server, last)


def expired(server: SmallKube, version: str) -> bool:
    lines = server.api().lines(PODS, 5, resourceVersion=version, timeoutSeconds=1)
    for batch in lines:
        for line in batch:
            event = orjson.loads(line)
            if event["type"] == "ERROR":
                return isinstance(error_of_status(event["object"]), Expired)
    return False
