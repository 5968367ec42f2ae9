"""Each tutorial of docs/tutorials, from its own text, in the sandbox that the tutorials start: one for all of them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from compose.sandbox.aws.network import VPC_ID, SandboxVpc
from compose.sandbox.kube.real import executables
from tests.fixtures.kube import Kustomize
from tests.support.servers.sandbox import SandboxProcess, sandbox

REPOSITORY = Path(__file__).parents[2]
TUTORIALS = {path.stem: path.read_text() for path in sorted((REPOSITORY / "docs" / "tutorials").glob("*.md"))}
BLOCK = re.compile(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
START = re.compile(r'^make sandbox ARGS="([^"]*)"$', re.MULTILINE)
PATIENCE = 180  # seconds


@pytest.fixture(scope="module")
def running(kustomize: Kustomize, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """As the tutorials start it, but for Flower, which no command of theirs asks."""
    del kustomize  # kubectl is built
    [arguments] = {found for text in TUTORIALS.values() for found in START.findall(text)}
    with sandbox(tmp_path_factory.mktemp("tutorials"), *shlex.split(arguments), "--no-flower") as started:
        started.says("Ctrl-C ends the sandbox")
        yield started


@pytest.mark.row("ST-34")
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_shows_what_it_says(name: str, running: SandboxProcess) -> None:
    path = f"{executables()}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECACHEDIR": str(running.directory / "kubectl")}
    for block, promised in BLOCK.findall(TUTORIALS[name]):
        if block.startswith("# tested\n"):
            command = ["sh", "-eu", "-c", f". {running.directory / 'env'}\n{block}"]
            done = subprocess.run(
                command, cwd=REPOSITORY, env=environment, check=False, capture_output=True, text=True, timeout=PATIENCE
            )
            assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
            assert re.search(pattern(promised), done.stdout, re.DOTALL), f"{block}\n{done.stdout}"


def pattern(promised: str) -> str:
    """Of what a tutorial promises: the lines in their order, `…` for anything, one space for any."""
    pieces = [r"\s+".join(map(re.escape, piece.split())) for piece in promised.split("…")]
    return ".*".join(pieces)


@pytest.mark.row("ST-34")
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_is_whole(name: str) -> None:
    """It starts the sandbox, every block says whether a test runs it, and most are run."""
    blocks = [block for block, _ in BLOCK.findall(TUTORIALS[name])]
    assert len(START.findall(TUTORIALS[name])) == 1
    assert [block for block in blocks if not block.startswith(("# tested\n", "# yours\n"))] == []
    assert len([block for block in blocks if block.startswith("# tested\n")]) >= len(blocks) - 2 > 3


def test_the_network_of_the_tutorials_is_that_of_the_sandbox() -> None:
    named = {found for text in TUTORIALS.values() for found in re.findall(r"\b(?:vpc|subnet)-\w+", text)}
    assert VPC_ID in named
    assert named <= {VPC_ID, *(subnet.id for subnet in SandboxVpc("us-east-1").subnets)}
