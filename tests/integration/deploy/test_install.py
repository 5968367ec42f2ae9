"""The commands of docs/install.md that a cluster without nodes can run, in their order, by Kustomize and by Helm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compose.sandbox.kube.real import RealKube, executables
from events.kube.api import KubeApi, NotFound
from tests.fixtures.helm import Helm, executable
from tests.fixtures.kube import Kube
from tests.support.deployed import DEPLOY, VERSION

GUIDE = (DEPLOY.parent / "docs" / "install.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
TESTED, WITH_HELM, YOURS = (
    [each for each in BLOCKS if each.startswith(f"# {mark}\n")] for mark in ("tested", "tested with Helm", "yours")
)


def test_every_block_says_whether_a_test_runs_it() -> None:
    assert len(TESTED) + len(WITH_HELM) + len(YOURS) == len(BLOCKS) > 0


def run(block: str, folder: Path, environment: dict[str, str], *commands: Path) -> None:
    """In `folder`; these commands are found before all others."""
    path = ":".join([*(str(command.parent) for command in commands), environment["PATH"]])
    known = environment | {"PATH": path, "KUBECACHEDIR": str(folder)}
    done = subprocess.run(
        ["sh", "-eu", "-c", block], cwd=folder, env=known, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{block}\n{done.stderr}"


@pytest.mark.row("EV-21", "CL-16")
def test_what_the_guide_says_is_what_the_cluster_then_has(cluster: RealKube, admin: KubeApi, tmp_path: Path) -> None:
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    for block in TESTED:
        run(block, tmp_path, environment, cluster.kubectl)
    place = "/api/v1/namespaces/berthmaster"
    role = admin.get(f"{place}/serviceaccounts/worker")["metadata"]["annotations"]["eks.amazonaws.com/role-arn"]
    assert role == "arn:aws:iam::210987654321:role/berthmaster-production"
    settings = [each.get("data", {}) for each in admin.list(f"{place}/configmaps")["items"]]
    assert ("production", "eu-west-1") in [(d.get("BERTHMASTER_CLUSTER"), d.get("AWS_REGION")) for d in settings]
    pools = admin.list("/apis/berthmaster.dev/v1alpha1/portpools")["items"]
    assert {pool["metadata"]["name"] for pool in pools} == {"arena", "lobby"}


@pytest.mark.row("ST-19")
@pytest.mark.usefixtures("crds_real")
def test_the_guide_installs_with_helm_and_removes(helm: Helm, kube_real: Kube, tmp_path: Path) -> None:
    """On the server that tests share: the release is gone in the end."""
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    [secrets] = [block for block in TESTED if "create secret generic berthmaster-redis" in block]
    environment = Helm(helm.home, kube_real.server.kubeconfig).environment
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "helm").symlink_to(executable() or Path())
    commands = (tmp_path / "bin" / "helm", (executables() or Path()) / "kubectl")
    *install, remove = WITH_HELM
    for block in (secrets, *install):
        run(block, tmp_path, environment, *commands)
    deployment = "/apis/apps/v1/namespaces/berthmaster/deployments/worker"
    [container] = kube_real.api.get(deployment)["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "210987654321.dkr.ecr.eu-west-1.amazonaws.com/berthmaster:" + VERSION
    binding = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/berthmaster-pod-pools"
    assert kube_real.api.get(binding)["subjects"][0]["name"] == "worker"
    run(remove, tmp_path, environment, *commands)
    for gone in (deployment, binding):
        with pytest.raises(NotFound):
            kube_real.api.get(gone)
