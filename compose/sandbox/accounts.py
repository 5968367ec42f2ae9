"""The service accounts and roles of publisher and workers, as in deploy/, for processes outside of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from compose.sandbox.kube.apply import apply, manifests
from compose.sandbox.kube.server import KubeServer
from events.kube.api import KubeApi

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
NAMESPACE: Final = "berthmaster"
ACCOUNTS: Final = ("publisher", "worker")
ACCESS: Final = (
    "base/namespace.yaml",
    "base/publisher-access.yaml",
    "base/worker-access.yaml",
    "base/admission.yaml",
    "overlays/sandbox/pod-pools.yaml",
)
A_DAY: Final = 86_400


def admit(api: KubeApi, server: KubeServer, directory: Path) -> None:
    """Create accounts and roles, and write a kubeconfig for each account. Raises KubeError."""
    for file in ACCESS:
        apply(api, manifests(DEPLOY / file))
    for account in ACCOUNTS:
        server.write_kubeconfig_of(account, token(api, account), kubeconfig(account, directory))


def token(api: KubeApi, account: str) -> str:
    """Return a token of the account, as a kubelet mounts it into the account's pods."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    return str(api.create(path, {**kind, "spec": {"expirationSeconds": A_DAY}})["status"]["token"])


def kubeconfig(account: str, directory: Path) -> Path:
    """Return the path of the account's kubeconfig."""
    return directory / f"{account}.kubeconfig"


def settings_of(account: str, directory: Path) -> dict[str, str]:
    """Return the settings that the manifests give the account's process."""
    return {
        "BERTHMASTER_KUBERNETES__KUBECONFIG": str(kubeconfig(account, directory)),
        "BERTHMASTER_PUBLISHER__LEASE__NAMESPACE": NAMESPACE,
    }
