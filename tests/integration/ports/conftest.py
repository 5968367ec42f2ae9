"""One fleet a test: its own namespace, cluster name and pools, on shared servers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest
from redis import Redis

from tests.fixtures.aws import CREDENTIALS, Aws
from tests.fixtures.kube import Kube
from tests.support import command_line
from tests.support.command_line import places_of
from tests.support.ports.fleet import Fleet

Answer = tuple[int, Any, str]
"""Exit status, what was printed (read as JSON if it was asked for), errors."""
Command = Callable[..., Answer]


@pytest.fixture
def fleet(redis: Redis, kube: Kube, crds: None, aws: Aws) -> Fleet:
    return Fleet.in_own_cluster(redis, kube, aws)


@pytest.fixture
def places(fleet: Fleet, kube: Kube, aws: Aws, redis_url: str) -> Mapping[str, str]:
    """The variables of every command."""
    return {
        **CREDENTIALS,
        **places_of(kube, redis_url),
        "BERTHMASTER_CLUSTER": fleet.cluster,
        "BERTHMASTER_AWS__ENDPOINT_URL": aws.endpoint_url,
        "BERTHMASTER_PORTS__ORPHAN_GRACE": "0",
        "COLUMNS": "200",
    }


@pytest.fixture
def berthmaster(places: Mapping[str, str]) -> Command:
    def run(*arguments: str, **more: str) -> Answer:
        done = command_line.berthmaster({**places, **more}, *arguments)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
        return answer(arguments, done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def berthmaster_process(places: Mapping[str, str]) -> Command:
    def run(*arguments: str) -> Answer:
        command = [sys.executable, "-c", "from workers.cli.main import app; app()", *arguments]
        environment = {**os.environ, **places}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
        return answer(arguments, done.returncode, done.stdout, done.stderr)

    return run


def answer(arguments: tuple[str, ...], status: int, output: str, errors: str) -> Answer:
    return status, orjson.loads(output) if "--json" in arguments and output else output, errors
