"""A real Kubernetes API: etcd, kube-apiserver and kube-controller-manager on loopback, without root.

The executables come from `make apiserver` (or KUBEBUILDER_ASSETS). `compose.sandbox.kube.kubelet` simulates the
kubelet. etcd does not wait for the disk, so a crash of the machine loses data.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

from compose.sandbox.daemon import Daemon, answers
from compose.sandbox.free_ports import free_port
from compose.sandbox.kube.server import KubeServer

BUILD = Path(__file__).parents[3] / "tests" / "apiserver" / "build.sh"
NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
HOW_TO_GET = "It is not built: `make apiserver` builds it (about 14 min, once)."


def executables() -> Path | None:
    """Return the folder with all executables, or None."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if not named and BUILD.exists():
        named = subprocess.run([str(BUILD), "--where"], check=True, capture_output=True, text=True).stdout.strip()
    folder = Path(named) if named else None
    return folder if folder and all(os.access(folder / name, os.X_OK) for name in NEEDED) else None


def available() -> bool:
    """Return whether all executables are there."""
    return executables() is not None


def write_signing_key(path: Path) -> None:
    """Write the key of service accounts. The API server needs the key even if no service account is used."""
    from cryptography.hazmat.primitives import serialization  # here: only the sandbox extra has it
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    path.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))


AUDIT: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts:berthmaster"]
  - level: None
"""
"""Audit policy that records the requests of our own accounts."""

LAST_ROLE = (
    "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/system::leader-locking-kube-scheduler"
)
"""Path of one of the last roles that the server creates for its own accounts when it starts."""


class RealKube(KubeServer):
    """A real API server with etcd and controllers, each a process."""

    name = "real"

    def __init__(self, directory: Path, watch_cache: bool = False) -> None:
        """Raises FileNotFoundError, which says how to build the executables, when they are missing.

        `watch_cache`: as the server of a cluster. Without it, compacted versions are gone at once, a watch gets only
        the first bookmark, and a server that nobody asks costs a quarter of the CPU.
        """
        folder = executables()
        if folder is None:
            raise FileNotFoundError(f"There is no real Kubernetes API server here. {HOW_TO_GET}")
        self.directory, self.folder = directory, folder
        self.port, self.etcd_port, peer = free_port(), free_port(), free_port()
        self.url, self.etcd_url = f"https://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.etcd_port}"
        self.token, self.other_token = secrets.token_hex(16), secrets.token_hex(16)
        self.ca_file = directory / "certificates" / "apiserver.crt"
        self.data, self.copy = directory / "etcd", directory / "etcd-backup"
        self.etcd = self.daemon("etcd", etcd_flags(self.data, self.etcd_url, f"http://127.0.0.1:{peer}"))
        self.front = self.daemon("kube-apiserver", api_flags(directory, self.etcd_url, self.port, watch_cache))
        self.controllers = self.daemon("kube-controller-manager", controller_flags(directory))

    @property
    def daemons(self) -> list[Daemon]:
        """The processes, in the order in which they stop."""
        return [self.controllers, self.front, self.etcd]

    def daemon(self, name: str, flags: list[str]) -> Daemon:
        """Return the process of an executable, not started."""
        return Daemon(name, [str(self.folder / name), *flags], self.directory)

    def start(self) -> RealKube:
        """Start, and wait until the API, the namespace `default` and the controllers are ready. Takes about 5 s."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if not (self.directory / "sa.key").exists():
            write_signing_key(self.directory / "sa.key")
        users = [f'{self.token},admin,admin,"system:masters"', f"{self.other_token},nobody,nobody"]
        (self.directory / "tokens.csv").write_text("\n".join(users) + "\n")
        (self.directory / "audit.yaml").write_text(AUDIT)
        self.write_kubeconfig()
        try:
            self.etcd.start(lambda: answers(self.etcd_port))
            self.start_api()
            self.controllers.start(lambda: self.serves("/api/v1/namespaces/default/serviceaccounts/default"))
        except BaseException:
            self.stop()
            raise
        return self

    def start_api(self) -> None:
        """Start the API server, and wait for the roles of its controllers.

        The controllers exit if they have no roles within 10 s.
        """
        self.front.start(lambda: self.serves("/api/v1/namespaces/default") and self.serves(LAST_ROLE))

    def stop(self) -> None:
        """Stop the API server before etcd. An API server whose etcd stops first keeps its port for many minutes."""
        for daemon in self.daemons:
            daemon.stop()

    def compact(self) -> None:
        """Compact etcd up to its present revision."""
        key = base64.b64encode(b"/registry/namespaces/default").decode()
        revision = self.ask_etcd("range", {"key": key})["header"]["revision"]
        try:
            self.ask_etcd("compaction", {"revision": revision, "physical": True})
        except urllib.error.HTTPError as refused:
            if refused.code != 400:  # 400: etcd is compacted up to this revision already
                raise

    def backup(self) -> None:
        """Copy etcd's files while etcd is paused. They are as after a crash, and etcd can start from them."""
        self.etcd.pause()
        try:
            shutil.rmtree(self.copy, ignore_errors=True)
            shutil.copytree(self.data, self.copy)
        finally:
            self.etcd.resume()

    def restore(self) -> None:
        """Stop, replace the data by the backup, and start."""
        self.stop()
        shutil.rmtree(self.data)
        shutil.copytree(self.copy, self.data)
        self.start()

    def ask_etcd(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        """Call etcd's JSON API. Raises urllib.error.HTTPError."""
        request = urllib.request.Request(f"{self.etcd_url}/v3/kv/{call}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(json.load(answer))

    @property
    def audit_log(self) -> Path:
        """The file with a line of JSON for each request of an account in the namespace `berthmaster`."""
        return self.directory / "audit.log"

    @property
    def kubectl(self) -> Path:
        """The kubectl that belongs to the server."""
        return self.folder / "kubectl"


def etcd_flags(directory: Path, url: str, peer_url: str) -> list[str]:
    """Return the flags of etcd."""
    return [
        f"--data-dir={directory}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
        "--log-level=error",
        # The API server takes the versions of bookmarks from these notifications.
        "--watch-progress-notify-interval=1s",
    ]


def api_flags(directory: Path, etcd_url: str, port: int, watch_cache: bool) -> list[str]:
    """Return the flags of kube-apiserver."""
    return [
        f"--etcd-servers={etcd_url}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={directory / 'certificates'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={directory / 'sa.key'}",
        f"--service-account-signing-key-file={directory / 'sa.key'}",
        f"--token-auth-file={directory / 'tokens.csv'}",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--watch-cache={str(watch_cache).lower()}",
        f"--audit-policy-file={directory / 'audit.yaml'}",
        f"--audit-log-path={directory / 'audit.log'}",
        "--v=0",
    ]


def controller_flags(directory: Path) -> list[str]:
    """Return the flags of kube-controller-manager."""
    running = (
        "namespace,garbage-collector,serviceaccount,node-lifecycle,pod-garbage-collector,disruption,"
        "clusterrole-aggregation"
    )
    return [
        "--controllers=" + ",".join(f"{name}-controller" for name in running.split(",")),
        "--leader-elect=false",
        "--secure-port=0",
        f"--service-account-private-key-file={directory / 'sa.key'}",
        f"--kubeconfig={directory / 'kubeconfig'}",
    ]
