"""The wheels that services install: client and runner work from them, beside packages that are called as ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from base64 import b64decode
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from redis import Redis

from berthmaster import client as client_module
from berthmaster import routing
from berthmaster.jobs.job import PoolLimits
from berthmaster.jobs.payloads import SubmitJob
from compose.sandbox.orphans import end_with_us
from tests.integration.runner.conftest import RunnerPool
from tests.support.waiting import eventually
from tests.support.wheels import (
    NAMES,
    REPOSITORY,
    bare_environment,
    bare_python,
    client_wheel,
    metadata,
    requirements,
    server_wheel,
)
from workers.tasks.payloads import read

PAGE = (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8")
CLIENT, SERVICE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
OWN = f"""
import sys
import {", ".join(NAMES)}

assert {{package.OWNER for package in ({", ".join(NAMES)})}} == {{"the service"}}
assert not [name for name in sys.modules if name.startswith({tuple(f"{name}." for name in NAMES)!r})]
"""
"""All packages of these names are the service's own."""
HEAVY = {"boto3", "botocore", "kubernetes", "flower", "typer"}
PACKAGES_AT_IMPORT = {"berthmaster", "orjson", "redis"}
"""What the import of the client loads beside the standard library; kombu, pydantic and others when a Fleet is made."""
LARGEST = 300_000
"""Bytes of the wheel of the client."""
STRANGER = """
from datetime import timedelta

from berthmaster.client import Fleet, Missing, Request

with Fleet("redis://redis") as fleet:
    record = fleet.run(Request("report-7", "ci/runners", "report"), timedelta(minutes=1))
    reveal_type(fleet.claim("ci/runners").endpoints)
    reveal_type(record)
    reveal_type(record.state)
    fleet.run("report-7", 60)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return client_wheel(tmp_path_factory.mktemp("client"))


def take_submission(pool: RunnerPool, redis: Redis) -> bool:
    """As a worker of ours does with the message that the client sent."""
    message: Any = redis.rpop(routing.JOBS)
    if message:
        body = orjson.loads(b64decode(orjson.loads(message)["body"]))
        pool.dispatcher.dispatch(
            pool.ledger.submit(read(SubmitJob, tuple(body[0]), {}).job.job(PoolLimits(timedelta(minutes=1))))[1]
        )
    return bool(message)


@pytest.mark.row("ST-01", "ST-04")
def test_client_and_runner_of_the_page_work_from_the_wheel_alone(
    tmp_path: Path, wheel: Path, pool: RunnerPool, redis: Redis, redis_url: str
) -> None:
    for_runner = bare_environment(tmp_path / "runner", wheel, "runner")
    (for_runner / "service.py").write_text(SERVICE + OWN)
    settings = pool.settings("r1")
    del settings["PYTHONPATH"]
    celery = bare_python(for_runner, "-m", "celery", "-A", "service", "worker", "--pool", "threads")
    log = (tmp_path / "runner.log").open("wb")
    runner = subprocess.Popen(celery, env=os.environ | settings, cwd=for_runner, stdout=log, stderr=log)
    end_with_us(runner)
    try:
        eventually(lambda: runner.poll() is None and pool.open("r1"), 60)
        client = bare_python(bare_environment(tmp_path / "client", wheel), "-c", CLIENT + OWN)
        environment = os.environ | {"BERTHMASTER_REDIS__URL": redis_url}
        with subprocess.Popen(client, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as asking:
            eventually(lambda: take_submission(pool, redis), 60)
            said, _ = asking.communicate(timeout=90)
        assert asking.returncode == 0
        assert said == "succeeded shop, by job deploy-7\n"
    finally:
        runner.kill()
        runner.wait()
        log.close()
        print((tmp_path / "runner.log").read_text()[-3000:])  # noqa: T201 - shown when the test fails


@pytest.mark.row("ST-02")
def test_neither_client_nor_runner_needs_what_the_server_needs(tmp_path: Path, wheel: Path) -> None:
    described = metadata(wheel, tmp_path)
    client, runner = requirements(described, ""), requirements(described, "runner")
    assert (client | runner) & HEAVY == set()
    assert ("kombu" in client, "celery" in client, "celery" in runner) == (True, False, True)


@pytest.mark.row("ST-03")
def test_the_client_is_small_and_imports_nothing_that_it_does_not_need(tmp_path: Path, wheel: Path) -> None:
    """By every name but that of a model of pydantic. How long the import takes is a budget of `make bench`."""
    assert wheel.stat().st_size < LARGEST
    names = ", ".join(name for name in client_module.__all__ if name != "ClaimEndpoint")
    program = f"import sys; from berthmaster.client import {names}; print(*sys.modules)"
    command = bare_python(bare_environment(tmp_path, wheel), "-c", program)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert packages - {"__main__"} - sys.stdlib_module_names == PACKAGES_AT_IMPORT


@pytest.mark.row("ST-01")
def test_every_package_of_the_folder_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        shipped = {name for name in packed.namelist() if ".dist-info/" not in name}
    files = {path for path in (REPOSITORY / "berthmaster").rglob("*") if path.suffix in (".py", ".lua", ".typed")}
    assert shipped == {str(path.relative_to(REPOSITORY)) for path in files if "build" not in path.parts}


@pytest.mark.row("ST-05")
def test_the_types_of_the_client_are_seen_by_who_installs_it(tmp_path: Path, wheel: Path) -> None:
    """In an environment of its own: in a folder of sources mypy would ask for no marker."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    [packages] = (tmp_path / "venv").glob("lib/python*/site-packages")
    metadata(wheel, packages)
    (tmp_path / "stranger.py").write_text(STRANGER)
    python = str(tmp_path / "venv" / "bin" / "python")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", python, "stranger.py"]
    done = subprocess.run(mypy, cwd=tmp_path, check=False, capture_output=True, text=True)
    faults = re.findall(r"(?:error|note): (.*)", done.stdout)
    assert [fault for fault in faults if not fault.startswith("Possible")] == [
        'Module "berthmaster.client" has no attribute "Missing"  [attr-defined]',
        'Revealed type is "tuple[berthmaster.claims.answer.ClaimEndpoint, ...]"',
        'Revealed type is "berthmaster.jobs.job.JobRecord"',
        'Revealed type is "berthmaster.jobs.job.JobState"',
        'Argument 1 to "run" of "Fleet" has incompatible type "str"; expected "Request"  [arg-type]',
        'Argument 2 to "run" of "Fleet" has incompatible type "int"; expected "timedelta"  [arg-type]',
    ]


@pytest.mark.row("ST-09")
@pytest.mark.parametrize("build, top_level", [(client_wheel, {"berthmaster"}), (server_wheel, {*NAMES} - {"tests"})])
def test_two_builds_give_the_same_wheel(tmp_path: Path, build: Callable[[Path], Path], top_level: set[str]) -> None:
    """With SOURCE_DATE_EPOCH. What each installs at the top is what docs/api.md says."""
    one, other = build(tmp_path / "one"), build(tmp_path / "other")
    assert (one.name, one.read_bytes()) == (other.name, other.read_bytes())
    with zipfile.ZipFile(one) as packed:
        assert {name.partition("/")[0] for name in packed.namelist() if ".dist-info/" not in name} == top_level
