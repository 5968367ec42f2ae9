"""The commands of docs/faq.md and docs/tuning.md, against the sandbox on a real API server, in their order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from compose.sandbox.environment import CLUSTER
from compose.sandbox.kube.real import executables
from tests.fixtures.aws import CREDENTIALS, Aws
from tests.fixtures.kube import Kustomize
from tests.support.servers.sandbox import SandboxProcess, sandbox

REPOSITORY = Path(__file__).parents[2]
MARKS = ("# tested\n", "# yours\n")
DOCUMENTS = {name: (REPOSITORY / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("tuning", "faq")}
BLOCKS = [
    (name, block) for name, text in DOCUMENTS.items() for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
]


def test_every_block_says_whether_a_test_runs_it() -> None:
    assert [block for _, block in BLOCKS if not block.startswith(MARKS)] == []
    assert {name for name, _ in BLOCKS} == set(DOCUMENTS)


@pytest.fixture
def running(kustomize: Kustomize, tmp_path: Path) -> Iterator[SandboxProcess]:
    """Until all is bound and done; nothing comes or goes by itself after that."""
    del kustomize  # the real API server is built
    arguments = ("--api", "real", "--pods", "3", "--jobs", "3", "--no-flower", "--no-churn")
    with sandbox(tmp_path, *arguments) as started:
        started.says("Ctrl-C ends the sandbox", 120)
        yield started


@pytest.mark.row("EV-21")
def test_what_the_documents_tell_people_to_type_works_and_leaves_nothing_in_aws(
    running: SandboxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)  # for the client of the test itself
    path = f"{executables()}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    settings = f". {running.directory / 'env'}\n"
    environment = {**os.environ, "PATH": path, "KUBECACHEDIR": str(running.directory / "kubectl")}
    for name, block in BLOCKS:
        if block.startswith("# tested"):
            command = ["sh", "-eu", "-c", settings + block]
            done = subprocess.run(
                command, cwd=REPOSITORY, env=environment, check=False, capture_output=True, text=True, timeout=180
            )
            assert done.returncode == 0, f"{name}: {block}\n{done.stdout}\n{done.stderr}"
    url = re.search("AWS_ENDPOINT_URL=(.*)", (running.directory / "env").read_text())
    assert url
    driver = Aws(url[1]).driver()
    assert driver.find_owned_load_balancers(CLUSTER) == []
    assert list(driver.target_groups_owned(CLUSTER, "arena")) == []
