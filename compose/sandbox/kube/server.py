"""What every Kubernetes API server of ours offers to those who use it, whichever it is.

The sandbox's own server and a real kube-apiserver are interchangeable for the sandbox and for tests: both give an
address, credentials, a kubeconfig and `compact`, which makes every version before now too old to watch from.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path

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

    @abstractmethod
    def compact(self) -> None:
        """Forgets every version before the present one: watching from them and old `continue` tokens answer 410."""

    def settings(self, token: str | None = None) -> KubernetesSettings:
        values = {"server": self.url, "token": token or self.token, "ca_file": self.ca_file}
        return KubernetesSettings.model_validate(values)

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator, written anew at each call."""
        cluster = {"server": self.url} | ({"certificate-authority": str(self.ca_file)} if self.ca_file else {})
        path = self.directory / "kubeconfig"
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "admin"}}],
            "current-context": "sandbox",
        }
        path.write_text(json.dumps(body))
        return path
