"""What commands say of an error, and what to do."""

from __future__ import annotations

import pytest
from redis.exceptions import AuthenticationError
from redis.exceptions import ConnectionError as RedisConnectionError

from events.kube.api import KubeApi, KubeError
from events.settings import KubernetesSettings
from workers.cli.configured import Unconfigured, kubernetes
from workers.cli.troubles import in_words
from workers.settings import WorkerSettings


@pytest.mark.row("RD-27")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            RedisConnectionError("Error 111 connecting to r:1. Connection refused."),
            "Error 111 connecting to r:1. Connection refused: is BERTHMASTER_REDIS__URL right, and does Redis run?",
        ),
        (
            AuthenticationError("invalid username-password pair or user is disabled."),
            "invalid username-password pair or user is disabled: are user and password in BERTHMASTER_REDIS__URL ",
        ),
        (AuthenticationError("Authentication required."), "Authentication required: name user and password in "),
        (RedisConnectionError("Redis refuses for now: OOM command"), "Redis refuses for now: OOM command: docs/operat"),
    ],
)
def test_an_error_of_redis_is_said_with_what_to_do_about_it(error: Exception, said: str) -> None:
    assert in_words(error).startswith(said)


@pytest.mark.row("RD-27")
def test_an_api_server_that_is_away_is_named_in_plain_words() -> None:
    with pytest.raises(KubeError) as away:
        KubeApi.connect(KubernetesSettings(server="http://user:secret@127.0.0.1:1")).get("/version")
    said = in_words(away.value)
    assert said.startswith("http://127.0.0.1:1 does not answer: Failed to establish a new connection: ")
    assert said.endswith("does KUBECONFIG or BERTHMASTER_KUBERNETES__SERVER lead to an API server that runs?")


@pytest.mark.row("RD-27")
def test_a_kubeconfig_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = WorkerSettings(cluster="blue", kubernetes=KubernetesSettings(kubeconfig="/no/such/file"))
    with pytest.raises(Unconfigured, match=r"BERTHMASTER_KUBERNETES__KUBECONFIG=/no/such/file: "):
        kubernetes(settings)
    monkeypatch.setenv("KUBECONFIG", "/no/other/file")
    with pytest.raises(Unconfigured, match=r"KUBECONFIG=/no/other/file: "):
        kubernetes(WorkerSettings(cluster="blue"))
