"""Each row of the table of kinds is served everywhere, and a row that is not says where."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from berthmaster import routing
from berthmaster.kinds import BY_PREFIX, GROUP, KINDS, OUR_KINDS, POD, POD_CLAIM, PORT_POOL, ReadyClass, ResourceKind
from compose.sandbox.kube.apply import manifests
from domain.definitions import DEFINITIONS
from events.publisher.resources import snapshot_resources
from events.settings import PublisherSettings
from scripts.tasks import by_name
from workers.app import create_app
from workers.cli.permissions import Permission, of_publisher, of_worker
from workers.settings import WorkerSettings

REPOSITORY = Path(__file__).parents[2]
UNSERVED = ResourceKind(
    "Unserved",
    prefix="unserved",
    plural="unserveds",
    task="unserved.reconcile",
    ready_class=ReadyClass.POOL,
    worker_verbs=("get",),
)
"""A row that nobody serves."""
PLACE = {True: ("games", "lobby-0"), False: ("arena",)}
"""Of an object, by whether its kind has namespaces."""


def gaps(kind: ResourceKind, root: Path = REPOSITORY) -> set[str]:
    """Where this kind is not served. Files are read below `root`."""
    return {place for place, served in [*services(kind), *documents(kind, root), *grants(kind, root)] if not served}


def services(kind: ResourceKind) -> Iterator[tuple[str, bool]]:
    """In our processes."""
    key = kind.key(*PLACE[kind.namespaced])
    followed = {resource.kind: resource.path for resource in snapshot_resources("games")}
    yield "publisher", followed.get(kind.prefix) == kind.collection("games" if kind.namespaced else "")
    yield "router", routing.is_key(key) and routing.reconciler(key) == kind.task
    yield "queue", routing.QUEUES.get(kind.task) == routing.LATENCY
    yield "Celery", kind.task in registered()
    yield "payload", takes_keys_of(kind)
    yield "doctor of workers", permissions(kind, of_worker()) >= worker_needs(kind)
    yield "doctor of publishers", permissions(kind, of_publisher(PublisherSettings())) >= publisher_needs(kind)
    yield "Events", BY_PREFIX.get(kind.prefix) is kind
    yield "definition", kind in DEFINITIONS or kind.group != GROUP


def documents(kind: ResourceKind, root: Path) -> Iterator[tuple[str, bool]]:
    """Files that a person reads or applies."""
    yield "docs/reference/tasks.md", f"## {kind.task}\n" in text(root / "docs" / "reference" / "tasks.md")
    yield "deploy/examples", kind.name in {body["kind"] for body in manifests(root / "deploy" / "examples")}
    if kind.group == GROUP:
        yield "docs/reference/resources.md", f"## {kind.name}\n" in text(root / "docs" / "reference" / "resources.md")
        yield "deploy/crds", serves(root / "deploy" / "crds", kind)


def grants(kind: ResourceKind, root: Path) -> Iterator[tuple[str, bool]]:
    """Rules of deploy/base."""
    yield "worker role", granted(kind, root, "worker") >= worker_needs(kind)
    yield "publisher role", granted(kind, root, "publisher") >= publisher_needs(kind)
    if kind.group == GROUP:
        yield "view role", granted(kind, root, "view") >= {(kind.plural, verb) for verb in ("get", "list", "watch")}
    if kind.group == GROUP and kind.namespaced:
        changes = {(kind.plural, verb) for verb in ("create", "update", "patch", "delete", "deletecollection")}
        yield "edit role", granted(kind, root, "edit") >= changes


def registered() -> set[str]:
    """Names of the tasks of a worker."""
    app = create_app(lambda: WorkerSettings(cluster="c"))
    app.loader.import_default_modules()
    return set(app.tasks)


def takes_keys_of(kind: ResourceKind) -> bool:
    """Whether the payload of its task takes the keys of this kind and of no other."""
    task = by_name().get(kind.task)
    pattern = task.schema["properties"]["key"]["pattern"] if task else "^$"
    return {other for other in {*KINDS, kind} if re.search(pattern, other.key(*PLACE[other.namespaced]))} == {kind}


def permissions(kind: ResourceKind, of: Iterator[Permission]) -> set[tuple[str, str]]:
    return {(each.resource, each.verb) for each in of if each.group == kind.group}


def worker_needs(kind: ResourceKind) -> set[tuple[str, str]]:
    return {(kind.plural, verb) for verb in kind.worker_verbs} | {(f"{kind.plural}/status", "patch")}


def publisher_needs(kind: ResourceKind) -> set[tuple[str, str]]:
    return {(kind.plural, verb) for verb in ("list", "watch")}


def granted(kind: ResourceKind, root: Path, role: str) -> set[tuple[str, str]]:
    """Resource and verb of each rule about the kind's API group in a cluster role."""
    files = sorted((root / "deploy" / "base").glob("*-access.yaml"))
    bodies = [body for file in files for body in yaml.safe_load_all(text(file)) if body]
    return {
        (resource, verb)
        for body in bodies
        if body["kind"] == "ClusterRole" and body["metadata"]["name"] == f"berthmaster-{role}"
        for rule in body["rules"]
        if kind.group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def serves(folder: Path, kind: ResourceKind) -> bool:
    """Whether `kubectl apply -k` of this folder installs the kind as its row says."""
    file = folder / f"{kind.plural}.{kind.group}.yaml"
    if file.name not in yaml.safe_load(text(folder / "kustomization.yaml"))["resources"] or not file.exists():
        return False
    spec: dict[str, Any] = yaml.safe_load(text(file))["spec"]
    scope, [version] = "Namespaced" if kind.namespaced else "Cluster", spec["versions"]
    names = (spec["names"]["kind"], spec["names"]["plural"], spec["names"]["singular"])
    row = (kind.name, kind.plural, kind.prefix)
    return (spec["group"], version["name"], spec["scope"], names) == (kind.group, kind.version, scope, row)


def text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_row_is_served_everywhere(kind: ResourceKind) -> None:
    assert gaps(kind) == set()


def test_a_row_that_nobody_serves_says_where() -> None:
    assert gaps(UNSERVED) == {
        *("publisher", "router", "queue", "Celery", "payload", "doctor of workers", "doctor of publishers", "Events"),
        *("definition", "docs/reference/tasks.md", "docs/reference/resources.md", "deploy/examples", "deploy/crds"),
        *("worker role", "publisher role", "view role", "edit role"),
    }


@pytest.mark.parametrize(
    ("file", "words", "others", "place"),
    [
        ("deploy/crds/podclaims.berthmaster.dev.yaml", "scope: Namespaced", "scope: Cluster", "deploy/crds"),
        ("deploy/crds/kustomization.yaml", "- podclaims.berthmaster.dev.yaml\n", "", "deploy/crds"),
        ("deploy/base/worker-access.yaml", " podclaims/status,", "", "worker role"),
        ("deploy/base/worker-access.yaml", "list, create", "list", "worker role"),
        ("deploy/base/publisher-access.yaml", " podclaims,", "", "publisher role"),
        ("deploy/base/tenant-access.yaml", ", deletecollection", "", "edit role"),
        ("deploy/base/tenant-access.yaml", "[portpools, podpools, podclaims,", "[portpools, podpools,", "view role"),
        ("deploy/examples/podclaim.yaml", "kind: PodClaim", "kind: PodPool", "deploy/examples"),
        ("docs/reference/resources.md", "## PodClaim\n", "", "docs/reference/resources.md"),
        ("docs/reference/tasks.md", "## claims.reconcile", "", "docs/reference/tasks.md"),
    ],
)
def test_a_file_that_leaves_a_kind_out_is_a_gap(tmp_path: Path, file: str, words: str, others: str, place: str) -> None:
    for folder in ("deploy", "docs/reference"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    said = text(tmp_path / file)
    assert words in said
    (tmp_path / file).write_text(said.replace(words, others))
    assert gaps(POD_CLAIM, tmp_path) == {place}


def test_no_two_rows_share_what_tells_them_apart() -> None:
    for of in ("name", "prefix", "plural", "task"):
        assert len({getattr(kind, of) for kind in KINDS}) == len(KINDS), of


def test_every_kind_of_ours_and_no_other_has_a_definition() -> None:
    assert set(DEFINITIONS) == set(OUR_KINDS) == {kind for kind in KINDS if kind.group == "berthmaster.dev"}


def test_a_row_knows_its_paths_and_keys() -> None:
    assert (POD.collection(), POD.collection("a")) == ("/api/v1/pods", "/api/v1/namespaces/a/pods")
    assert PORT_POOL.collection() == "/apis/berthmaster.dev/v1alpha1/portpools"
    assert (POD_CLAIM.key("a", "b"), POD_CLAIM.key_form) == ("podclaim/a/b", "podclaim/NAMESPACE/NAME")
    assert (PORT_POOL.key("a"), PORT_POOL.key_form) == ("portpool/a", "portpool/NAME")
