"""Start and stop all processes of the sandbox, in the order in which they need each other.

A Stack is a context: leaving it stops everything. Tests also use it, to kill parts and start them again.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.request import urlopen

from compose.sandbox.accounts import admit, settings_of
from compose.sandbox.aws.policy import statements_of
from compose.sandbox.aws.remote import Remote
from compose.sandbox.daemon import Daemon, answers
from compose.sandbox.environment import CLUSTER, MARK, fleet_page, variables, write
from compose.sandbox.free_ports import free_port
from compose.sandbox.kube.apply import apply, manifests
from compose.sandbox.kube.real import RealKube
from compose.sandbox.kube.server import KubeServer
from compose.sandbox.kube.small import SmallKube
from compose.sandbox.redis_server import RedisServer
from workers.cli.processes import beat_command, flower_command, worker_command
from workers.settings import WorkerSettings

CRDS: Final = Path(__file__).parents[2] / "deploy" / "crds"
POLICY: Final = Path(__file__).parents[2] / "deploy" / "iam" / "policy.json"
OUR_KEY: Final = "berthmaster"
"""The access key of our processes, limited by the IAM policy. The keys of people and tests are not limited."""
FLOWER_USER: Final = "sandbox"
STOP_WITHIN: Final = 10.0
"""Seconds after which a process that does not end is killed."""


class ProcessEnded(Exception):  # noqa: N818 - says what happened
    """A process of the sandbox ended by itself. The message has the end of its log."""


class Stack:
    """All processes of a sandbox."""

    def __init__(
        self,
        directory: Path,
        api: str = "sandbox",
        flower: bool = True,
        workers: int = 2,
        throttle: bool = True,
        runners: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare the processes and start none. `settings`: more variables for our processes.

        `throttle`: whether AWS refuses calls above its rates. `runners`: whether pods of pod pools are processes that
        run jobs. Raises FileNotFoundError with the way out when the real API server or Redis is missing.
        """
        self.directory, self.logs, self.runners = directory, directory / "logs", runners
        self.redis = RedisServer(directory / "redis", password=secrets.token_hex(16))
        self.kube: KubeServer = RealKube(directory / "kube") if api == "real" else SmallKube(directory / "kube")
        self.aws_port, self.publisher_port, self.flower_port = free_port(), free_port(), free_port()
        self.aws_url, self.flower_url = (f"http://127.0.0.1:{port}" for port in (self.aws_port, self.flower_port))
        self.flower_password = secrets.token_urlsafe(9)
        self.variables = variables(directory, self.redis.url, self.kube.kubeconfig, self.aws_url)
        self.settings = self.variables | {
            "AWS_ACCESS_KEY_ID": OUR_KEY,
            "BERTHMASTER_LOG__FORMAT": "json",
            "BERTHMASTER_METRICS__ADDRESS": "127.0.0.1",
            "BERTHMASTER_CELERY__TASK_EVENTS": str(flower).lower(),
            "BERTHMASTER_PORTS__SWEEP_EVERY": "3s",  # people look at a pool's status, so keep it fresh
            "BERTHMASTER_SLOTS__AUTOSCALE_EVERY": "3s",
            "BERTHMASTER_PUBLISHER__HEALTH_HOST": "127.0.0.1",
            "BERTHMASTER_PUBLISHER__HEALTH_PORT": str(self.publisher_port),
            **(settings or {}),
        }
        arguments = ["--port", str(self.aws_port), *(["--throttle"] if throttle else [])]
        self.aws = self.daemon("aws", ["-m", "compose.sandbox.aws", *arguments])
        self.publisher = self.daemon("publisher", ["-m", "events"], **self.as_deployed("publisher"))
        self.workers = [self.worker(f"worker-{number + 1}") for number in range(workers)]
        self.beat = self.daemon("beat", beat_command(()).arguments)
        self.flower = self.flower_daemon() if flower else None
        self.kubelet: Daemon | None = None

    def daemon(self, name: str, arguments: Iterable[str], **more: str) -> Daemon:
        """Return a Python process with the stack's settings. `more`: variables of this process."""
        return Daemon(name, [sys.executable, *arguments], self.logs, {**self.settings, **more})

    def worker(self, name: str) -> Daemon:
        """Return a worker with its own heartbeat file and metrics port."""
        rest = ["--hostname", f"{name}@sandbox"]
        command = worker_command(WorkerSettings(cluster="sandbox"), None, "threads", rest)
        own = {
            "BERTHMASTER_CELERY__HEARTBEAT_FILE": str(self.heartbeat(name)),
            "BERTHMASTER_METRICS__PORT": str(free_port()),
            **self.as_deployed("worker"),
        }
        return self.daemon(name, command.arguments, **own)

    def as_deployed(self, account: str) -> dict[str, str]:
        """Return settings for the accounts of deploy/, if the API server supports accounts and roles."""
        return settings_of(account, self.directory) if isinstance(self.kube, RealKube) else {}

    def flower_daemon(self) -> Daemon:
        """Return Flower with a password, because it shows the arguments of tasks and can stop workers."""
        own = {"FLOWER_BASIC_AUTH": f"{FLOWER_USER}:{self.flower_password}"}
        return self.daemon("flower", flower_command("127.0.0.1", self.flower_port, ()).arguments, **own)

    def kubelet_daemon(self) -> Daemon:
        """Return the kubelet, which runs runners as processes if `runners` is set."""
        daemon = self.kube.kubelet_daemon(*(["--runners", str(self.logs / "runners")] if self.runners else []))
        daemon.env[MARK] = str(self.directory)
        return daemon

    def heartbeat(self, worker: str) -> Path:
        """Return the path of the worker's heartbeat file."""
        return self.directory / f"{worker}.heartbeat"

    # ---- start

    def start(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Start what the first pods need. `tell` is called after each step; it may raise. Raises RuntimeError."""
        self.redis.start()
        tell("Redis")
        for early in (self.aws, self.workers[0]):
            early.launch()  # both load slowly, and need only Redis
        self.kube.start()
        write(self.directory / "env", self.variables, fleet_page(self.flower_login))
        tell("Kubernetes API")
        self.define()
        self.kubelet = self.kubelet_daemon()
        for daemon in (self.publisher, self.beat, self.kubelet):
            daemon.launch()
        tell("definitions of our kinds")
        self.aws.await_ready(lambda: answers(self.aws_port))
        self.restrict_aws()
        tell("AWS")

    def restrict_aws(self) -> None:
        """Limit our processes to the IAM policy that we ship."""
        self.remote_aws.change(policies={OUR_KEY: statements_of(POLICY.read_text(), CLUSTER)})

    def complete(self) -> None:
        """Start the rest, which takes seconds of CPU time to load. The first pods are bound without it."""
        for daemon in (*self.workers[1:], *([self.flower] if self.flower else [])):
            daemon.launch()

    def define(self) -> None:
        """Create the definitions of our kinds; with a real API server also accounts and roles."""
        api = self.kube.api("sandbox")
        apply(api, manifests(CRDS))
        if isinstance(self.kube, RealKube):
            admit(api, self.kube, self.directory)
        api.close()

    def working(self) -> bool:
        """Return whether the publisher is ready and every worker consumes."""
        return self.publishes() and all(self.heartbeat(worker.name).exists() for worker in self.workers)

    def publishes(self) -> bool:
        """Return whether the publisher is ready."""
        try:
            with urlopen(f"http://127.0.0.1:{self.publisher_port}/readyz", timeout=2) as answer:
                return bool(answer.status == HTTPStatus.OK)
        except OSError:  # not started yet, or not ready
            return False

    @property
    def flower_login(self) -> dict[str, str]:
        """Return Flower's url, user and password; {} without Flower."""
        login = {"url": self.flower_url, "user": FLOWER_USER, "password": self.flower_password}
        return login if self.flower else {}

    @property
    def remote_aws(self) -> Remote:
        """A client of the simulated AWS's own controls."""
        return Remote(self.aws_url)

    # ---- watch and end

    def supervised(self) -> list[Daemon]:
        """Return the processes that must not end, clients before their servers."""
        own = [self.flower, self.beat, *self.workers, self.publisher, self.kubelet, self.aws]
        return [*(daemon for daemon in own if daemon), *self.kube.daemons, self.redis.daemon]

    def check(self) -> None:
        """Raise ProcessEnded if a process has ended."""
        for daemon in self.supervised():
            if daemon.ended():
                assert daemon.process
                raise ProcessEnded(f"{daemon.name} ended with status {daemon.process.returncode}:\n{daemon.tail()}")

    def stop(self) -> None:
        """Stop everything, clients before their servers. Safe at any time."""
        servers = [self.aws, *self.kube.daemons, self.redis.daemon]
        users = [daemon for daemon in self.supervised() if daemon not in servers]
        with ThreadPoolExecutor(max_workers=len(users)) as pool:
            list(pool.map(lambda daemon: daemon.stop(STOP_WITHIN), users))
        self.kube.stop()
        self.aws.stop()
        self.redis.stop()
        (self.directory / "env").unlink(missing_ok=True)  # another process may get its ports later

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
