"""How we find the API, and what we make of one that does not answer."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes.config import ConfigException

from events.kube.api import Denied, Invalid, KubeApi, NotFound, Unavailable
from events.settings import KubernetesSettings
from tests.fixtures.kube import Kube


def connect(**values: object) -> KubeApi:
    return KubeApi.connect(KubernetesSettings.model_validate(values))


def test_a_kubeconfig_gives_address_credentials_and_certificates(kube: Kube) -> None:
    api = connect(kubeconfig=kube.server.kubeconfig)
    assert api.get(f"/api/v1/namespaces/{kube.namespace}")["kind"] == "Namespace"


def test_a_context_that_is_not_there_is_an_error_at_once(kube: Kube) -> None:
    with pytest.raises(ConfigException):
        connect(kubeconfig=kube.server.kubeconfig, context="elsewhere")


def test_without_any_credentials_connecting_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigException):
        connect(kubeconfig=tmp_path / "none")


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable) as raised:
        connect(server="http://127.0.0.1:1").get("/version")
    assert raised.value.status == 0


@pytest.fixture
def deaf() -> Iterator[int]:
    """A server that accepts and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(5)
        yield listening.getsockname()[1]


def test_a_server_that_says_nothing_is_given_up_after_the_time_out(deaf: int) -> None:
    api = connect(server=f"http://127.0.0.1:{deaf}", request_timeout="300ms")
    began = time.monotonic()
    for call in (lambda: api.get("/version"), lambda: next(api.lines("/api/v1/pods", 0.3))):
        with pytest.raises(Unavailable) as raised:
            call()
        assert raised.value.status == 0
    assert time.monotonic() - began < 10  # the time-out by default


def answering(answers: bytes) -> int:
    """The port of a server that says this to one connection and closes it."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1)

    def serve() -> None:
        with listening, listening.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(answers)

    threading.Thread(target=serve, daemon=True).start()
    return int(listening.getsockname()[1])


@pytest.mark.parametrize(
    "head, body, kind",
    [
        ("502 Bad Gateway", b"<html>proxy</html>", Unavailable),
        ("403 Forbidden", b"", Denied),
        ("404 Not Found", b"404 page not found", NotFound),
        ("400 Bad Request", b'["no status"]', Invalid),
    ],
)
def test_answers_of_proxies_are_typed_by_their_status_alone(head: str, body: bytes, kind: type[Exception]) -> None:
    port = answering(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (head.encode(), len(body), body))
    with pytest.raises(kind):
        connect(server=f"http://127.0.0.1:{port}").get("/version")


def test_an_account_that_is_refused_is_read_anew() -> None:
    """It is kept for some seconds otherwise: to read it takes a third of a request's CPU time."""
    port = answering(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
    api = connect(server=f"http://127.0.0.1:{port}", token="old")
    assert api.credentials() == {"authorization": "Bearer old"}
    api.connection.configuration.api_key["authorization"] = "Bearer new"
    assert api.credentials() == {"authorization": "Bearer old"}
    with pytest.raises(Denied):
        api.get("/version")
    assert api.credentials() == {"authorization": "Bearer new"}


def test_an_answer_that_breaks_off_is_unavailable() -> None:
    port = answering(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"kind":')
    with pytest.raises(Unavailable):
        connect(server=f"http://127.0.0.1:{port}").get("/version")


def test_lines_that_arrive_with_the_headers_are_read_and_a_broken_one_is_not() -> None:
    chunk = b'{"type":"ADDED"}\n'
    body = b'%x\r\n%s\r\n%x\r\n%s\r\n5\r\n{"typ\r\n' % (len(chunk), chunk, len(chunk), chunk)
    port = answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    batches = list(connect(server=f"http://127.0.0.1:{port}").lines("/api/v1/pods", 2))
    assert [line for batch in batches for line in batch] == [chunk.strip()] * 2


def test_lines_of_a_body_without_chunks_are_read() -> None:
    port = answering(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"type":"ADDED"}\n{"type":"DELETED"}\n')
    batches = list(connect(server=f"http://127.0.0.1:{port}").lines("/api/v1/pods", 2))
    assert [json.loads(line)["type"] for batch in batches for line in batch] == ["ADDED", "DELETED"]


def test_what_arrives_together_is_one_batch(kube: Kube) -> None:
    version = kube.api.list(kube.path("configmaps"))["metadata"]["resourceVersion"]
    for index in range(50):
        kube.api.create(kube.path("configmaps"), {"metadata": {"name": f"c{index}"}})
    batches = []
    for batch in kube.api.lines(kube.path("configmaps"), 10, resourceVersion=version, timeoutSeconds=2):
        batches.append(len(batch))
        if sum(batches) == 50:
            break
    assert sum(batches) == 50
    assert len(batches) < 50
