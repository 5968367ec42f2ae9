"""`python -m compose.sandbox.kube`: run the sandbox's Kubernetes API, with a kubelet on request."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from aiohttp import web

from compose.sandbox.kube.access import ADMIN
from compose.sandbox.kube.api import Api
from compose.sandbox.kube.http import Server
from compose.sandbox.kube.journal import ObjectJournal


async def serve(server: Server, host: str, port: int, kubelet: list[str]) -> None:
    """Serve until SIGTERM or SIGINT. `kubelet`: the command of a kubelet, empty for none."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, host, port, backlog=1024).start()
    player = subprocess.Popen(kubelet) if kubelet else None
    await ended.wait()
    if player:
        player.terminate()
    await runner.cleanup()


def kubelet_command(port: int, tokens: dict[str, str]) -> list[str]:
    """Return the command of a kubelet for the API on `port`, with the administrator's token if there is one."""
    token = next((token for token, name in tokens.items() if name == ADMIN and token), "")
    command = [sys.executable, "-m", "compose.sandbox.kube.kubelet", "--server", f"http://127.0.0.1:{port}"]
    return [*command, "--with-parent", *(("--token", token) if token else ())]


def main(
    port: Annotated[int, typer.Option(help="port to listen on")] = 8001,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    data: Annotated[Path | None, typer.Option(help="folder to keep the objects in; none: in memory only")] = None,
    kubelet: Annotated[bool, typer.Option(help="run pods, as far as their status shows")] = False,
    user: Annotated[list[str] | None, typer.Option(help="name=bearer token; only `admin` may do anything")] = None,
    history: Annotated[int, typer.Option(help="changes a kind that a watch can resume from")] = 5000,
    bookmark_every: Annotated[float, typer.Option(help="seconds between the bookmarks of a watch")] = 60.0,
) -> None:
    """Run the sandbox's Kubernetes API."""
    tokens = {token: name for name, _, token in (account.partition("=") for account in user or ())}
    # A request without credentials is from the user whose token is empty. Without users, all are the administrator's.
    journal = ObjectJournal(data / "objects.jsonl") if data else None
    server = Server(Api(history), tokens, bookmark_every, journal)
    asyncio.run(serve(server, host, port, kubelet_command(port, tokens) if kubelet else []))


if __name__ == "__main__":
    typer.run(main)
