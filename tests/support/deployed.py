"""What deploy/ says, as real kustomize renders it, and what its accounts asked a real API server for."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import yaml

from compose.sandbox.kube.real import executables
from scripts.release import version_of

Json = dict[str, Any]
Name = tuple[str, str, str]
"""Kind, namespace ('' for an object of the cluster) and name."""
DEPLOY = Path(__file__).parents[2] / "deploy"
VERSION = version_of(DEPLOY.parent)
ACCOUNTS = "system:serviceaccount:berthmaster:"


def kubectl(*arguments: str, told: str | None = None) -> str:
    """What it prints. The built one, never one of the machine."""
    command = [str((executables() or Path()) / "kubectl"), *arguments]
    done = subprocess.run(command, input=told, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(folder: Path) -> list[Json]:
    return [body for body in yaml.safe_load_all(kubectl("kustomize", str(folder))) if body]


def by_name(objects: list[Json]) -> dict[Name, Json]:
    """No two objects have the same name."""
    named = {(b["kind"], b["metadata"].get("namespace", ""), b["metadata"]["name"]): b for b in objects}
    assert len(named) == len(objects)
    return named


class Permission(NamedTuple):
    """`resource` with its subresource: `pods/status`."""

    account: str
    verb: str
    group: str
    resource: str


def permitted(objects: Iterable[Json]) -> set[Permission]:
    """What the roles that are bound to an account of ours allow, wherever."""
    bodies = list(objects)
    roles = {(b["kind"], b["metadata"]["name"]): b["rules"] for b in bodies if b["kind"] in ("Role", "ClusterRole")}
    bindings = [body for body in bodies if body["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    return {
        Permission(subject["name"], verb, group, resource)
        for binding in bindings
        for subject in binding["subjects"]
        for rule in roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def requests(audit_log: Path) -> Iterator[Json]:
    """Each request of an account of ours; the last line may be half written."""
    for line in audit_log.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n") and (event := orjson.loads(line))["user"]["username"].startswith(ACCOUNTS):
            yield event


def refused(audit_log: Path) -> list[str]:
    """By the roles, or by the admission policy."""
    events = requests(audit_log)
    return [
        f"{e['user']['username']} {e['verb']} {e['requestURI']}"
        for e in events
        if e["responseStatus"]["code"] == 403 or "ValidatingAdmissionPolicy" in e["responseStatus"].get("message", "")
    ]


def asked(audit_log: Path) -> set[Permission]:
    """What was asked for, whatever came of it; paths that are no resources are open to everybody, and so is the
    question what one may do (Kubernetes' own role system:basic-user).
    """
    found = {permission(event) for event in requests(audit_log) if "objectRef" in event}
    return {each for each in found if each.resource != "selfsubjectaccessreviews"}


def permission(event: Json) -> Permission:
    of = event["objectRef"]
    resource = "/".join(filter(None, (of["resource"], of.get("subresource", ""))))
    account = event["user"]["username"].removeprefix(ACCOUNTS)
    return Permission(account, event["verb"], of.get("apiGroup", ""), resource)
