"""Client and runner work from the wheel that services install, beside a service's packages that are called as ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from base64 import b64decode
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import orjson
import pytest
from packaging.requirements import Requirement
from redis import Redis

from berthmaster import routing
from berthmaster.jobs.payloads import SubmitJob
from compose.sandbox.orphans import end_with_us
from tests.integration.runner.conftest import RunnerPool
from tests.support.waiting import eventually
from workers.tasks.payloads import read

REPOSITORY = Path(__file__).parents[3]
NAMES = ("workers", "events", "domain", "compose")
"""Packages of the server, which a service may have as well."""
SERVICE = """
import sys
import domain, events, workers
from celery import Celery
from berthmaster.runner import install

app = Celery("service")
install(app)

@app.task(name="work")
def work():
    return f"{workers.OWNER} ran it; ours: {sorted(name for name in sys.modules if name.startswith('workers.'))}"
"""
CLIENT = """
import sys
from datetime import timedelta
from berthmaster.client import Fleet, Request
import workers

with Fleet(sys.argv[1]) as fleet:
    record = fleet.run(Request("j1", "ci/runners", "work"), timedelta(seconds=90))
assert "celery" not in sys.modules
print(workers.OWNER, record.outcome, record.result)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the build leaves nothing in the tree."""
    source, built = tmp_path_factory.mktemp("source") / "berthmaster", tmp_path_factory.mktemp("wheel")
    shutil.copytree(REPOSITORY / "berthmaster", source)
    pip: list[str | Path] = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, source]
    subprocess.run(pip, check=True, capture_output=True)
    [file] = built.glob("berthmaster-*.whl")
    return file


def required(described: Distribution, extra: str) -> set[str]:
    """Names of all distributions that this one needs with the extra, and those that these need."""
    names: set[str] = set()
    pending = [(described, extra)]
    while pending:
        needy, wanted_extra = pending.pop()
        for text in needy.requires or ():
            requirement = Requirement(text)
            applies = not requirement.marker or requirement.marker.evaluate({"extra": wanted_extra})
            if applies and requirement.name not in names:
                names.add(requirement.name)
                pending += [(distribution(requirement.name), name) for name in ("", *requirement.extras)]
    return names


def environment(folder: Path, wheel: Path, extra: str = "") -> Path:
    """A folder with the wheel, with what its metadata asks for and nothing else, and with packages of a service."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    [metadata] = folder.glob("berthmaster-*.dist-info")
    for name in required(Distribution.at(metadata), extra):
        for file in distribution(name).files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(str(file.locate())), target)
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("OWNER = 'the service'\n")
    return folder


def bare_python(folder: Path, *arguments: str) -> list[str]:
    """Without site-packages: what is not in the folder is not there. `env` passes the folder on to children."""
    return ["env", f"PYTHONPATH={folder}", sys.executable, "-S", "-B", *arguments]


def take_submission(pool: RunnerPool, redis: Redis) -> bool:
    """As a worker of ours does with the message that the client sent."""
    message: Any = redis.rpop(routing.JOBS)
    if message:
        body = orjson.loads(b64decode(orjson.loads(message)["body"]))
        pool.dispatcher.dispatch(pool.ledger.submit(read(SubmitJob, tuple(body[0]), {}).job.job(60_000))[1])
    return bool(message)


def test_client_and_runner_work_from_the_wheel_alone(
    tmp_path: Path, wheel: Path, pool: RunnerPool, redis: Redis, redis_url: str
) -> None:
    for_runner = environment(tmp_path / "runner", wheel, "runner")
    (for_runner / "service.py").write_text(SERVICE)
    settings = pool.settings("r1")
    del settings["PYTHONPATH"]
    celery = bare_python(for_runner, "-m", "celery", "-A", "service", "worker", "--pool", "threads")
    log = (tmp_path / "runner.log").open("wb")
    runner = subprocess.Popen(celery, env=os.environ | settings, cwd=for_runner, stdout=log, stderr=log)
    end_with_us(runner)
    try:
        eventually(lambda: runner.poll() is None and pool.open("r1"), 60)
        client = bare_python(environment(tmp_path / "client", wheel), "-c", CLIENT, redis_url)
        with subprocess.Popen(client, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as asking:
            eventually(lambda: take_submission(pool, redis), 60)
            said, _ = asking.communicate(timeout=90)
        assert asking.returncode == 0
        assert said.strip() == "the service succeeded the service ran it; ours: []"
    finally:
        runner.kill()
        runner.wait()
        log.close()
        print((tmp_path / "runner.log").read_text()[-3000:])  # noqa: T201 - shown when the test fails


def test_the_client_has_no_celery(tmp_path: Path, wheel: Path) -> None:
    folder = environment(tmp_path, wheel)
    assert not (folder / "celery").exists()
    assert (folder / "kombu").exists()


def test_every_package_of_the_folder_is_in_the_wheel(tmp_path: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        shipped = {name for name in packed.namelist() if ".dist-info/" not in name}
    files = {path for path in (REPOSITORY / "berthmaster").rglob("*") if path.suffix in (".py", ".lua", ".typed")}
    assert shipped == {str(path.relative_to(REPOSITORY)) for path in files if "build" not in path.parts}
