"""The commands of docs/install.md that a cluster without nodes can run, in their order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compose.sandbox.kube.real import RealKube
from events.kube.api import KubeApi
from tests.support.deployed import DEPLOY

GUIDE = (DEPLOY.parent / "docs" / "install.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
TESTED, YOURS = ([each for each in BLOCKS if each.startswith(f"# {mark}\n")] for mark in ("tested", "yours"))


def test_every_block_says_whether_a_test_runs_it() -> None:
    assert len(TESTED) + len(YOURS) == len(BLOCKS) > 0


@pytest.mark.row("EV-21", "CL-16")
def test_what_the_guide_says_is_what_the_cluster_then_has(cluster: RealKube, admin: KubeApi, tmp_path: Path) -> None:
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    path = f"{cluster.kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(cluster.kubeconfig), "KUBECACHEDIR": str(tmp_path)}
    for block in TESTED:
        done = subprocess.run(
            ["sh", "-eu", "-c", block], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
    place = "/api/v1/namespaces/berthmaster"
    role = admin.get(f"{place}/serviceaccounts/worker")["metadata"]["annotations"]["eks.amazonaws.com/role-arn"]
    assert role == "arn:aws:iam::210987654321:role/berthmaster-production"
    settings = [each.get("data", {}) for each in admin.list(f"{place}/configmaps")["items"]]
    assert ("production", "eu-west-1") in [(d.get("BERTHMASTER_CLUSTER"), d.get("AWS_REGION")) for d in settings]
    pools = admin.list("/apis/berthmaster.dev/v1alpha1/portpools")["items"]
    assert {pool["metadata"]["name"] for pool in pools} == {"arena", "lobby"}
