"""The nodes of a storm of jobs: which pods run where, and how they die.

Most pods are light ones (`runner_node`), many a process; some are real Celery workers, a process each. A process that
is killed takes its pods' jobs with it; it comes again with the same pods and spools, as a container that is started
again, or some of its pods are lost, which are deleted by force once they are dead.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, RLock, Thread
from typing import Any

import orjson

from berthmaster.runner.spool import Spool, Stage
from compose.sandbox.kube.kubelet.runners import value_of
from compose.sandbox.orphans import end_with_us
from events.kube.api import KubeApi, NotFound
from tests.support.jobs.job_diary import Diary, Pen
from tests.support.jobs.runner_pods import pods_of_pools
from tests.support.servers.celery_worker import CeleryProcess

Json = dict[str, Any]
HEARTBEAT = "1s"


@dataclass
class Pod:
    name: str
    uid: str
    told: dict[str, str]  # its environment
    spool: Path


@dataclass
class Node:
    """`real`: a Celery worker for its only pod."""

    name: str
    real: bool
    pods: dict[str, Pod] = field(default_factory=dict)
    process: CeleryProcess | subprocess.Popen[bytes] | None = None

    def order(self, text: str) -> list[str]:
        assert isinstance(self.process, subprocess.Popen)
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        answer: list[str] = orjson.loads(self.process.stdout.readline())
        return answer

    def kill(self) -> None:
        if self.process:
            self.process.kill()
        if isinstance(self.process, subprocess.Popen):
            self.process.communicate(timeout=10)  # and closes the pipes
        self.process = None


class RunnerNodes:
    """`faults`: pods that somebody else had removed while they worked."""

    def __init__(self, api: KubeApi, pool: str, directory: Path, url: str, light: int, real: int) -> None:
        self._api, self.pool, self._directory, self._url = api, pool, directory, url
        self._path = f"/api/v1/namespaces/{pool.partition('/')[0]}/pods"
        self.diary, self._lock, self._stop = directory / "diary", RLock(), Event()
        self._pen, self._seen = Pen(self.diary), Diary(self.diary)
        self.nodes = [Node(f"node-{n}", real=False) for n in range(light)] + [
            Node(f"real-{n}", real=True) for n in range(real)
        ]
        self.faults: list[str] = []
        self.gone: dict[str, Pod] = {}
        self.most = 0
        self._thread = Thread(target=self._play, name="runner-nodes", daemon=True)

    def __enter__(self) -> RunnerNodes:
        for node in self.nodes:
            self.launch(node)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(20)
        for node in self.nodes:
            node.kill()

    # ---- the kubelet

    def _play(self) -> None:
        for live in pods_of_pools(self._api, self._path, self._stop):
            with self._lock:
                self._follow(live)

    def _follow(self, listed: dict[str, Json]) -> None:
        live = {uid: pod for uid, pod in listed.items() if "deletionTimestamp" not in pod["metadata"]}
        self.most = max(self.most, len(listed))
        running = self.running()
        for uid in running.keys() - live.keys():
            self._end(running[uid], uid)
        for uid in live.keys() - running.keys() - self.gone.keys():
            with suppress(NotFound, KeyError):  # its Secret is not there yet
                pod = self._pod(live[uid])
                self._run(self._place(), pod)

    def running(self) -> dict[str, Node]:
        return {uid: node for node in self.nodes for uid in node.pods}

    def _place(self) -> Node:
        free = [node for node in self.nodes if node.real and not node.pods]
        return free[0] if free else min((node for node in self.nodes if not node.real), key=lambda node: len(node.pods))

    def _pod(self, pod: Json) -> Pod:
        meta = pod["metadata"]
        told = {v["name"]: value_of(v, meta, self._secret) for v in pod["spec"]["containers"][0]["env"]}
        spool = self._directory / f"spool-{meta['name']}"
        own = {"BERTHMASTER_RUNNER__HEARTBEAT": HEARTBEAT, "BERTHMASTER_RUNNER__SPOOL": str(spool)}
        return Pod(meta["name"], meta["uid"], told | own, spool)

    def _secret(self, namespace: str, name: str) -> dict[str, str]:
        data = self._api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}").get("data") or {}
        return {key: b64decode(value).decode() for key, value in data.items()}

    def _end(self, node: Node, uid: str) -> None:
        """The pod is being removed: by scale-down, for nothing else is allowed to."""
        pod = node.pods.pop(uid)
        self.gone[uid] = pod
        self._seen.read()
        if running := [run for run in self._seen.running.values() if run.uid == uid]:
            self.faults.append(f"pod {pod.name} was removed while it ran {running}")
        if node.real:
            node.kill()
            self._pen.killed(uid)
        elif node.process:
            node.order(f"stop {pod.name}")

    def _run(self, node: Node, pod: Pod) -> None:
        node.pods[pod.uid] = pod
        if node.real:
            self.launch(node)
        elif node.process:
            node.order(f"run {orjson.dumps(_settings(pod.told)).decode()}")

    def launch(self, node: Node) -> None:
        """Starts its process, if it has none, and with it the pods that it has."""
        with self._lock:
            if node.process:
                return
            environment = {
                "PYTHONPATH": ":".join(sys.path),
                "DIARY": str(self.diary),
                "URL": self._url,
                "POOL": self.pool,
            }
            if node.real:
                for pod in node.pods.values():
                    options = ("--pool", "threads", "--loglevel", "INFO")
                    node.process = CeleryProcess(
                        "worker",
                        pod.name,
                        self._directory,
                        self._url,
                        environment | pod.told,
                        options,
                        "tests.support.jobs.storm_app",
                    ).start()
                return
            with (self._directory / f"{node.name}.log").open("ab") as log:
                node.process = subprocess.Popen(
                    [sys.executable, "-m", "tests.support.jobs.runner_node"],
                    env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                )  # fmt: skip
                end_with_us(node.process)
            for pod in node.pods.values():
                self._run(node, pod)

    # ---- deaths

    def kill(self, node: Node, lost: Iterable[str] = ()) -> list[str]:
        """SIGKILL. The attempts whose effect no runner will ever tell of, of which `lost` pods know none at all."""
        with self._lock:
            node.kill()
            untold = [attempt for pod in node.pods.values() for attempt in _unremembered(pod)]
            for uid in node.pods:
                self._pen.killed(uid)
            for uid in list(lost):
                pod = self.gone[uid] = node.pods.pop(uid)
                untold += _untold(pod)
                shutil.rmtree(pod.spool, ignore_errors=True)
                self._delete(pod)
            return untold

    def _delete(self, pod: Pod) -> None:
        try:
            self._api.delete(f"{self._path}/{pod.name}", {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}})
        except NotFound:
            return


def _settings(told: dict[str, str]) -> Json:
    """Of an environment, as RunnerSettings takes them."""
    found: Json = {name.removeprefix("BERTHMASTER_RUNNER__").lower(): value for name, value in told.items()}
    return {
        **{name: found[name] for name in ("pool", "pod", "uid", "heartbeat", "spool")},
        "slots": orjson.loads(found["slots"]),
    }


def _unremembered(pod: Pod) -> list[str]:
    """Attempts that had started: what they did, nobody will tell."""
    return [kept.attempt for kept in Spool(pod.spool).all() if kept.stage is Stage.RUNNING]


def _untold(pod: Pod) -> list[str]:
    return [kept.attempt for kept in Spool(pod.spool).all() if not kept.acknowledged]
