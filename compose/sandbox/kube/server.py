"""The interface of our Kubernetes API servers.

The sandbox's own server and a real kube-apiserver are interchangeable for the sandbox and for tests. Both offer an
address, credentials, a kubeconfig, a kubelet, `compact`, `backup` and `restore`.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from pathlib import Path

from compose.sandbox.daemon import Daemon
from events.kube.api import KubeApi, KubeError
from events.settings import KubernetesSettings


class KubeServer(ABC):
    """A Kubernetes API server. Its creator starts and stops it. A restarted server keeps its port."""

    name: str
    directory: Path
    url: str
    token: str
    other_token: str
    """Token of a user without any permission."""
    ca_file: Path | None

    @abstractmethod
    def start(self) -> KubeServer:
        """Start, wait until the API is ready, and return the server."""

    @abstractmethod
    def stop(self) -> None:
        """Stop all processes of the server."""

    @property
    @abstractmethod
    def daemons(self) -> list[Daemon]:
        """The processes of the server. All of them must run while the server serves."""

    @abstractmethod
    def compact(self) -> None:
        """Forget every version before the present one. Watches from older versions and old `continue` tokens get 410.

        A real server does this only for pods, Events and our own kinds.
        """

    @abstractmethod
    def backup(self) -> None:
        """Copy all objects and their versions. A new copy replaces the last one."""

    @abstractmethod
    def restore(self) -> None:
        """Start anew from the copy of `backup`. Versions go back, and later writes are lost."""

    def settings(self, token: str | None = None) -> KubernetesSettings:
        """Return the settings of a client. `token`: None means the administrator's."""
        values = {"server": self.url, "token": token or self.token, "ca_file": self.ca_file}
        return KubernetesSettings.model_validate(values)

    def api(self, agent: str = "tests", token: str | None = None) -> KubeApi:
        """Return a client. `token`: None means the administrator's."""
        return KubeApi.connect(self.settings(token), agent)

    def serves(self, path: str) -> bool:
        """Return whether a GET succeeds now."""
        if self.ca_file and not self.ca_file.exists():
            return False
        api = self.api()
        try:
            api.get(path)
        except KubeError:
            return False
        finally:
            api.close()
        return True

    def kubelet(self, *options: str) -> Daemon:
        """Start a kubelet that simulates the pods of this server, and return its process."""
        daemon = self.kubelet_daemon(*options)
        daemon.start(lambda: self.serves("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/sandbox"))
        return daemon

    def kubelet_daemon(self, *options: str) -> Daemon:
        """Return the process of a kubelet, not started. `options`: of `python -m compose.sandbox.kube.kubelet`."""
        place = [
            "--server",
            self.url,
            "--token",
            self.token,
            *(["--ca-file", str(self.ca_file)] if self.ca_file else []),
        ]
        command = [sys.executable, "-m", "compose.sandbox.kube.kubelet", *place, "--with-parent", *options]
        return Daemon("kubelet", command, self.directory)

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig. `start` writes it."""
        return self.directory / "kubeconfig"

    def write_kubeconfig(self) -> None:
        """Write the kubeconfig of the administrator."""
        self.write_kubeconfig_of("admin", self.token, self.kubeconfig)

    def write_kubeconfig_of(self, user: str, token: str, path: Path) -> None:
        """Write a kubeconfig for the user of a token."""
        cluster = {"server": self.url} | ({"certificate-authority": str(self.ca_file)} if self.ca_file else {})
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": user}}],
            "current-context": "sandbox",
        }
        path.write_text(json.dumps(body))
