"""`python -m compose.sandbox.kube.kubelet`: simulate the pods of an API in a process of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from compose.sandbox.kube.kubelet.player import Player
from compose.sandbox.kube.kubelet.runners import Runners
from compose.sandbox.kube.kubelet.steps import Pace
from events.kube.api import KubeApi
from events.settings import KubernetesSettings


def main(  # noqa: PLR0913 - typer takes each option as an argument
    server: Annotated[str, typer.Option(help="address of the API; '' means that of the kubeconfig")] = "",
    token: Annotated[str, typer.Option(help="bearer token")] = "",
    ca_file: Annotated[Path | None, typer.Option(help="certificates that the server is verified with")] = None,
    node: Annotated[str, typer.Option(help="name of the node")] = "sandbox",
    start: Annotated[float, typer.Option(help="seconds until a pod runs")] = 0.3,
    longest_grace: Annotated[float, typer.Option(help="seconds that a terminating pod gets at most")] = 1.0,
    runners: Annotated[
        Path | None, typer.Option(help="run a worker of the example runner for each pod of a pod pool; for its files")
    ] = None,
    with_parent: Annotated[bool, typer.Option(help="end when the parent process has ended")] = False,
) -> None:
    """Simulate the pods of a Kubernetes API."""
    values = {"server": server or None, "token": token or None, "ca_file": ca_file}
    api = KubeApi.connect(KubernetesSettings.model_validate(values), agent="sandbox-kubelet")
    ended, parent = Event(), os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    player = Player(api, node, Pace(start, longest_grace), runners=Runners(runners, api) if runners else None)
    player.start()
    while not ended.wait(0.5) and not (with_parent and os.getppid() != parent):
        pass
    player.stop()


if __name__ == "__main__":
    typer.run(main)
