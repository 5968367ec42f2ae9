"""`python -m compose.sandbox.kube.adopt KUBECONFIG COPY SERVER MANIFESTS`: prepare a cluster that others started.

Waits for the cluster's kubeconfig and API, writes a copy of the kubeconfig that names SERVER, and applies MANIFESTS.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import yaml

from compose.sandbox.kube.apply import apply, manifests
from events.kube.api import Denied, KubeApi, Unavailable
from events.settings import KubernetesSettings

PATIENCE = 180.0
"""Seconds; a k3s that starts for the first time takes one minute."""


def elsewhere(kubeconfig: str, server: str) -> str:
    """Return a kubeconfig with another address of the API."""
    body = yaml.safe_load(kubeconfig)
    for cluster in body["clusters"]:
        cluster["cluster"]["server"] = server
    return yaml.safe_dump(body)


def waited_for(there: Callable[[], object], patience: float = PATIENCE) -> None:
    """Call `there` until no error that may pass occurs. Raises the last error after `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            there()
        except (OSError, TypeError, Unavailable, Denied):  # kubeconfig or API missing, half written, or without roles
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
        else:
            return


def main(arguments: Sequence[str]) -> None:
    """Adopt a cluster. `arguments`: KUBECONFIG, COPY, SERVER and MANIFESTS."""
    given, copy, folder = Path(arguments[0]), Path(arguments[1]), Path(arguments[3])
    waited_for(lambda: copy.write_text(elsewhere(given.read_text(), arguments[2])))
    copy.chmod(0o644)  # another user reads the copy, in a volume that only these containers mount
    with closing(KubeApi.connect(KubernetesSettings(kubeconfig=copy), "berthmaster-adopt")) as api:
        waited_for(lambda: api.get("/api/v1/namespaces/default"))
        apply(api, manifests(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
