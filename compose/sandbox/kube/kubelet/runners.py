"""The containers of runner pods: each pod of a pod pool is a process, a Celery worker of the example application.

The image and command of a pod are ignored, and its process gets the variables of a runner and no others. The API is
open to everybody on this machine, and must not run arbitrary commands.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final

from compose.sandbox.environment import MARK, cut_off
from compose.sandbox.kube.kubelet.steps import End, Later, ReportStatus, Step, with_condition
from domain.kubernetes.names import POOL
from events.kube.api import KubeApi, NotFound

Json = dict[str, Any]
EXAMPLE: Final = "compose.runner_example.app"
OPTIONS: Final = ("--pool", "threads", "--without-gossip", "--without-mingle", "--loglevel", "INFO")
VARIABLES: Final = "BERTHMASTER_RUNNER__"
LONGEST_GRACE: Final = 5.0
"""Seconds between SIGTERM and SIGKILL, unless the pod asks for less."""
POLL_EVERY: Final = 0.3
"""Seconds between two checks of a process."""


class Runners:
    """The processes of runner pods, by UID. Several threads may use it, but for one pod only one at a time."""

    def __init__(self, directory: Path, api: KubeApi) -> None:
        """`directory`: for logs and spools of the runners. `api`: to read Secrets."""
        self.directory, self.api, self.lock = directory, api, Lock()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.asked: set[str] = set()
        directory.mkdir(parents=True, exist_ok=True)

    def next_step(self, pod: Json, age: float, step: Step | None, now: str) -> Step | None:
        """Return the step to take instead of `step`, after a look at the pod's process. Raises KubeError.

        `step`: what the pod alone calls for. `age`: of the pod, or of its deletion, in seconds.
        """
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            patient = age < min(float(pod["metadata"].get("deletionGracePeriodSeconds") or 0), LONGEST_GRACE)
            return step and (Later(POLL_EVERY) if self.ending(uid, patient=patient) else End())
        if isinstance(step, ReportStatus) and not self.start(pod):
            return Later(POLL_EVERY)
        process = self.processes.get(uid)
        if process is None or (pod.get("status") or {}).get("phase") not in ("Pending", "Running"):
            return step
        if process.poll() is None:
            return step or Later(POLL_EVERY)
        return ReportStatus(ended(pod["status"], process.returncode, now))

    def start(self, pod: Json) -> bool:
        """Start the process of a pod, once. Returns False while a Secret that the process needs is missing."""
        meta = pod["metadata"]
        if meta["uid"] in self.processes:
            return True
        try:
            env = environment(pod, self.spool(meta["uid"]), self.secret)
        except (NotFound, KeyError):
            return False
        with self.lock:
            command = [sys.executable, "-m", "celery", "-A", EXAMPLE, "worker", *OPTIONS]
            with (self.directory / f"{meta['name']}.log").open("ab") as output:
                self.processes[meta["uid"]] = subprocess.Popen(
                    [*command, "--hostname", f"{meta['name']}@runners"],
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
        return True

    def ending(self, uid: str, *, patient: bool) -> bool:
        """Ask the process of a pod to end (`patient`), or kill it. Returns False if the process has ended."""
        process = self.processes.get(uid)
        if process is None or process.poll() is not None:
            return False
        if not patient:
            process.kill()
        elif uid not in self.asked:
            self.asked.add(uid)
            process.terminate()
        return True

    def forget(self, uid: str) -> None:
        """Remove everything of a deleted pod."""
        with self.lock:
            process = self.processes.pop(uid, None)
        self.asked.discard(uid)
        if process:
            process.kill()
            process.wait()
            shutil.rmtree(self.spool(uid), ignore_errors=True)

    def stop(self, patience: float = LONGEST_GRACE) -> None:
        """Stop all processes: SIGTERM, and SIGKILL after `patience` seconds. No process may start afterwards."""
        until = time.monotonic() + patience
        while sum(self.ending(uid, patient=time.monotonic() < until) for uid in list(self.processes)):
            time.sleep(0.05)

    def secret(self, namespace: str, name: str) -> dict[str, str]:
        """Return the decoded data of a Secret. Raises KubeError."""
        data = self.api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}").get("data") or {}
        return {key: b64decode(value).decode() for key, value in data.items()}

    def spool(self, uid: str) -> Path:
        """Return the folder of a pod's spool."""
        return self.directory / f"spool-{uid}"


def is_runner(pod: Json) -> bool:
    """Return whether the pod runs jobs. Pods of a pool without slots run none."""
    variables = pod["spec"]["containers"][0].get("env") or ()
    return POOL in (pod["metadata"].get("labels") or {}) and any(
        variable["name"].startswith(VARIABLES) for variable in variables
    )


Secret = Callable[[str, str], Mapping[str, str]]
"""Returns the data of a Secret, by namespace and name."""


def environment(pod: Json, spool: Path, secret: Secret) -> dict[str, str]:
    """Return the variables of the first container, in an environment without links to the user's systems."""
    env = dict(os.environ)
    mark = env.get(MARK, "")
    cut_off(env)
    variables = pod["spec"]["containers"][0].get("env") or []
    names = {
        variable["name"]: value_of(variable, pod["metadata"], secret)
        for variable in variables
        if variable["name"].startswith(VARIABLES)
    }
    return env | names | {MARK: mark, f"{VARIABLES}SPOOL": str(spool)}


def value_of(variable: Json, meta: Json, secret: Secret) -> str:
    """Return the value of a variable. Supports fields of the metadata only. Raises NotFound or KeyError."""
    source = variable.get("valueFrom") or {}
    if key := source.get("secretKeyRef"):
        return secret(meta["namespace"], key["name"])[key["key"]]
    if field := source.get("fieldRef"):
        return str(meta.get(field["fieldPath"].removeprefix("metadata."), ""))
    return str(variable.get("value", ""))


def ended(status: Json, code: int, now: str) -> Json:
    """Return the status of a pod whose process has ended. The pod does not restart, as with `restartPolicy: Never`."""
    conditions = list(status.get("conditions") or ())
    for kind in ("ContainersReady", "Ready"):
        conditions = with_condition(conditions, kind, "False", now)
    why = {"reason": "ProcessEnded", "message": f"its process ended with status {code}"}
    return status | why | {"phase": "Failed" if code else "Succeeded", "conditions": conditions}
