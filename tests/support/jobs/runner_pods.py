"""The containers of runner pods: for each pod a real Celery worker, started with the environment of the pod."""

from __future__ import annotations

import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from domain.kubernetes.names import POOL
from events.kube.api import KubeApi, KubeError
from tests.support.servers.celery_worker import CeleryProcess

Json = dict[str, Any]


def pods_of_pools(api: KubeApi, path: str, stop: Event) -> Iterator[dict[str, Json]]:
    """By UID, again and again until `stop`."""
    while not stop.wait(0.3):
        with suppress(KubeError):
            yield {pod["metadata"]["uid"]: pod for pod in api.list(path, labelSelector=POOL)["items"]}


class RunnerPods:
    """Starts when entered, ends with all its processes."""

    def __init__(self, api: KubeApi, namespace: str, directory: Path, redis_url: str) -> None:
        self._api, self._path = api, f"/api/v1/namespaces/{namespace}/pods"
        self._directory, self._url, self._stop = directory, redis_url, Event()
        self.runners: dict[str, CeleryProcess] = {}
        self._thread = Thread(target=self._play, name="runner-pods", daemon=True)

    def __enter__(self) -> RunnerPods:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(20)
        for runner in self.runners.values():
            runner.kill()

    def _play(self) -> None:
        for live in pods_of_pools(self._api, self._path, self._stop):
            for uid in live.keys() - self.runners.keys():
                self.runners[uid] = self._start(live[uid])
            for uid in self.runners.keys() - live.keys():
                self.runners[uid].kill()

    def _start(self, pod: Json) -> CeleryProcess:
        meta = pod["metadata"]
        told = {v["name"]: self._value(v, meta) for v in pod["spec"]["containers"][0]["env"]}
        environment = told | {
            "DIARY_URL": self._url,
            "BERTHMASTER_RUNNER__HEARTBEAT": "500ms",
            "BERTHMASTER_RUNNER__SPOOL": str(self._directory / f"spool-{meta['name']}"),
            "PYTHONPATH": ":".join(sys.path),
        }
        options = ("--pool", "threads", "--loglevel", "INFO")
        app = "tests.support.jobs.runner_app"
        return CeleryProcess("worker", meta["name"], self._directory, self._url, environment, options, app).start()

    def _value(self, variable: Json, meta: Json) -> str:
        if "value" in variable:
            return str(variable["value"])
        if key := variable["valueFrom"].get("secretKeyRef"):
            secret = self._api.get(f"{self._path.removesuffix('pods')}secrets/{key['name']}")
            return b64decode(secret["data"][key["key"]]).decode()
        path: str = variable["valueFrom"]["fieldRef"]["fieldPath"]
        return str(meta[path.removeprefix("metadata.")])
