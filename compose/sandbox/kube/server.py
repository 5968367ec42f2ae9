"""What every Kubernetes API server of ours offers to those who use it, whichever it is.

The sandbox's own server and a real kube-apiserver are interchangeable for the sandbox and for tests: both give an
address, credentials, a kubeconfig, a kubelet, and `compact`, after which older versions cannot be watched from.
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
    """Started and stopped by whoever made it; keeps its port when it is started again."""

    name: str
    directory: Path
    url: str
    token: str
    other_token: str
    """Of a user without any permission."""
    ca_file: Path | None

    @abstractmethod
    def start(self) -> KubeServer: ...

    @abstractmethod
    def stop(self) -> None: ...

    @property
    @abstractmethod
    def daemons(self) -> list[Daemon]:
        """Its processes; each must run while it serves."""

    @abstractmethod
    def compact(self) -> None:
        """Forgets every version before the present one: watching from them and old `continue` tokens answer 410.

        On a real server only for pods, Events and our own kinds.
        """

    @abstractmethod
    def backup(self) -> None:
        """Keeps a copy of all objects and of their version as they are now; there is one copy."""

    @abstractmethod
    def restore(self) -> None:
        """Starts anew from that copy: versions go back, and what was written since is gone."""

    def settings(self, token: str | None = None) -> KubernetesSettings:
        values = {"server": self.url, "token": token or self.token, "ca_file": self.ca_file}
        return KubernetesSettings.model_validate(values)

    def api(self, agent: str = "tests", token: str | None = None) -> KubeApi:
        return KubeApi.connect(self.settings(token), agent)

    def serves(self, path: str) -> bool:
        """Whether a GET succeeds now."""
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
        """A kubelet that plays the pods of this server, in a process of its own, started."""
        daemon = self.kubelet_daemon(*options)
        daemon.start(lambda: self.serves("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/sandbox"))
        return daemon

    def kubelet_daemon(self, *options: str) -> Daemon:
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
        """Of the administrator; there once the server was started."""
        return self.directory / "kubeconfig"

    def write_kubeconfig(self) -> None:
        self.write_kubeconfig_of("admin", self.token, self.kubeconfig)

    def write_kubeconfig_of(self, user: str, token: str, path: Path) -> None:
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
