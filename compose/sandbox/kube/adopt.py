"""`python -m compose.sandbox.kube.adopt KUBECONFIG COPY SERVER MANIFESTS`: makes ready a cluster that others started.

Waits for its kubeconfig and its API, writes a copy by which other machines reach it, and applies manifests.
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
    """The same for somebody who reaches the API under another address."""
    body = yaml.safe_load(kubeconfig)
    for cluster in body["clusters"]:
        cluster["cluster"]["server"] = server
    return yaml.safe_dump(body)


def waited_for(there: Callable[[], object], patience: float = PATIENCE) -> None:
    """Until it returns without an error that may pass. Raises the last one."""
    deadline = time.monotonic() + patience
    while True:
        try:
            there()
        except (OSError, TypeError, Unavailable, Denied):  # not there yet, half written, or without its roles
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
        else:
            return


def main(arguments: Sequence[str]) -> None:
    given, copy, folder = Path(arguments[0]), Path(arguments[1]), Path(arguments[3])
    waited_for(lambda: copy.write_text(elsewhere(given.read_text(), arguments[2])))
    copy.chmod(0o644)  # it is read by another user, in a volume that only these containers see
    with closing(KubeApi.connect(KubernetesSettings(kubeconfig=copy), "berthmaster-adopt")) as api:
        waited_for(lambda: api.get("/api/v1/namespaces/default"))
        apply(api, manifests(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
