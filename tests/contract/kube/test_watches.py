"""Lists, pages and watches: what both servers must agree on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compose.sandbox.kube.real import RealKube
from compose.sandbox.kube.small import SmallKube
from events.kube.api import Expired, Invalid
from tests.contract.kube.objects import Json, events, first, pod, version_of
from tests.fixtures.kube import Kube
from tests.support.waiting import eventually


def add(kube: Kube, name: str, **labels: str) -> Json:
    return kube.api.create(kube.path("pods"), pod(name, labels=labels))


def label(kube: Kube, name: str, **labels: str | None) -> Json:
    return kube.api.patch(kube.path("pods", name), {"metadata": {"labels": labels}})


def test_a_list_is_in_order_of_names_and_has_a_version(kube: Kube) -> None:
    for name in ("b", "c", "a"):
        add(kube, name)
    found = kube.api.list(kube.path("pods"))
    assert [item["metadata"]["name"] for item in found["items"]] == ["a", "b", "c"]
    assert int(version_of(found)) >= int(version_of(found["items"][1]))


def test_a_list_follows_its_pages_at_one_version(kube: Kube) -> None:
    for index in range(5):
        add(kube, f"p{index}")
    page = kube.api.get(kube.path("pods"), limit=2)
    assert page["metadata"]["remainingItemCount"] == 3
    kube.api.delete(kube.path("pods", "p3"))
    rest = kube.api.get(kube.path("pods"), limit=5, **{"continue": page["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["p2", "p3", "p4"]
    assert version_of(rest) == version_of(page)
    whole = kube.api.list(kube.path("pods"), limit=2)
    assert [item["metadata"]["name"] for item in whole["items"]] == ["p0", "p1", "p2", "p4"]
    assert "continue" not in whole["metadata"]


def test_pages_of_what_a_selector_chose_do_not_say_how_many_follow(kube: Kube) -> None:
    for index in range(6):
        add(kube, f"p{index}", even="no" if index % 2 else "yes")
    page = kube.api.get(kube.path("pods"), limit=2, labelSelector="even=yes")
    assert "remainingItemCount" not in page["metadata"]
    rest = kube.api.get(
        kube.path("pods"), limit=2, labelSelector="even=yes", **{"continue": page["metadata"]["continue"]}
    )
    assert [item["metadata"]["name"] for item in page["items"] + rest["items"]] == ["p0", "p2", "p4"]
    assert "continue" not in rest["metadata"]


def test_a_page_after_a_compaction_is_expired_and_a_whole_list_starts_anew(kube: Kube) -> None:
    for index in range(3):
        add(kube, f"p{index}")
    token = kube.api.get(kube.path("pods"), limit=2)["metadata"]["continue"]
    add(kube, "p4")
    kube.server.compact()
    with pytest.raises(Expired) as raised:
        kube.api.get(kube.path("pods"), limit=2, **{"continue": token})
    assert raised.value.status == 410


@pytest.mark.parametrize(
    "selector, names",
    [
        ("kind=web", ["a", "b"]),
        ("kind==web,tier!=one", ["b"]),
        ("kind in (web, voice)", ["a", "b", "c"]),
        ("kind notin (web),kind", ["c"]),
        ("!kind", ["d"]),
        ("tier", ["a"]),
    ],
)
def test_a_label_selector_selects(kube: Kube, selector: str, names: list[str]) -> None:
    add(kube, "a", kind="web", tier="one")
    add(kube, "b", kind="web")
    add(kube, "c", kind="voice")
    add(kube, "d")
    found = kube.api.list(kube.path("pods"), labelSelector=selector)
    assert [item["metadata"]["name"] for item in found["items"]] == names


def test_a_field_selector_selects(kube: Kube) -> None:
    for name in ("a", "b"):
        add(kube, name)
    kube.api.patch(kube.path("pods", "b") + "/status", {"status": {"phase": "Running"}})
    kube.api.create(kube.path("pods", "b") + "/binding", {"metadata": {"name": "b"}, "target": {"name": "one"}})
    for selector, names in {
        "metadata.name=a": ["a"],
        "metadata.name!=a": ["b"],
        "status.phase=Running": ["b"],
        "spec.nodeName=one": ["b"],
        "spec.nodeName=": ["a"],
    }.items():
        found = kube.api.list(kube.path("pods"), fieldSelector=selector)
        assert [item["metadata"]["name"] for item in found["items"]] == names, selector
    everywhere = kube.api.list("/api/v1/pods", fieldSelector=f"metadata.namespace={kube.namespace}")
    assert len(everywhere["items"]) == 2


@pytest.mark.parametrize("query", [{"fieldSelector": "spec.unheard=1"}, {"labelSelector": "a in (b"}, {"limit": "x"}])
def test_a_selector_that_nobody_understands_is_refused(kube: Kube, query: dict[str, str]) -> None:
    with pytest.raises(Invalid) as raised:
        kube.api.get(kube.path("pods"), **query)
    assert raised.value.status == 400


def test_a_watch_without_a_version_begins_with_what_is_there(kube: Kube) -> None:
    add(kube, "a")
    found = events(kube, kube.path("pods"))
    assert first(found, 1) == [("ADDED", "a")]


def test_a_watch_goes_on_from_a_version(kube: Kube) -> None:
    add(kube, "before")
    version = version_of(kube.api.list(kube.path("pods")))
    add(kube, "a")
    label(kube, "a", k="v")
    kube.api.delete(kube.path("pods", "a"), {"gracePeriodSeconds": 0})
    found = first(events(kube, kube.path("pods"), resourceVersion=version), 4)
    assert found[:2] == [("ADDED", "a"), ("MODIFIED", "a")]
    assert found[-1] == ("DELETED", "a")


@pytest.mark.row("EV-04")
def test_every_event_carries_a_later_version_and_the_deletion_the_latest(kube: Kube) -> None:
    version = version_of(kube.api.list(kube.path("pods")))
    add(kube, "a")
    kube.api.delete(kube.path("pods", "a"), {"gracePeriodSeconds": 0})
    found = []
    for event in events(kube, kube.path("pods"), resourceVersion=version):
        found.append(int(version_of(event["object"])))
        if event["type"] == "DELETED":
            break
    assert found == sorted(set(found))
    assert found[0] > int(version)


def test_an_object_enters_and_leaves_a_selected_watch_by_its_labels(kube: Kube) -> None:
    add(kube, "a", kind="web")
    version = version_of(kube.api.list(kube.path("pods")))
    add(kube, "b", kind="voice")
    label(kube, "b", kind="web")
    label(kube, "b", more="1")
    label(kube, "a", kind=None)
    found = events(kube, kube.path("pods"), resourceVersion=version, labelSelector="kind=web")
    assert first(found, 3) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]


def test_a_watch_of_one_name_tells_of_no_other(kube: Kube) -> None:
    version = version_of(kube.api.list(kube.path("pods")))
    add(kube, "a")
    add(kube, "b")
    found = events(kube, kube.path("pods"), resourceVersion=version, fieldSelector="metadata.name=b")
    assert first(found, 1) == [("ADDED", "b")]


def test_a_watch_of_all_namespaces_tells_of_ours(kube: Kube) -> None:
    version = version_of(kube.api.list("/api/v1/pods"))
    add(kube, "a")
    found = events(kube, "/api/v1/pods", resourceVersion=version)
    assert next(found)["object"]["metadata"]["namespace"] == kube.namespace


@pytest.mark.row("EV-01")
def test_a_watch_from_a_forgotten_version_ends_with_410(kube: Kube) -> None:
    version = version_of(add(kube, "a"))
    label(kube, "a", k="1")
    label(kube, "a", k="2")
    kube.server.compact()
    with pytest.raises(Expired) as raised:
        list(events(kube, kube.path("pods"), resourceVersion=version))
    assert (raised.value.status, raised.value.reason) == (410, "Expired")


@pytest.fixture
def caching(kube_kind: str, tmp_path: Path) -> Iterator[Kube]:
    """Its own: only a server with a watch cache sends such bookmarks, and the shared one has none."""
    server = (
        RealKube(tmp_path, watch_cache=True) if kube_kind == "real" else SmallKube(tmp_path, "--bookmark-every", "0.5")
    )
    server.start()
    yield Kube(server, server.api(), "default")
    server.stop()


def test_a_bookmark_moves_a_quiet_watch_past_changes_of_others(caching: Kube) -> None:
    path = caching.path("configmaps")
    version = version_of(caching.api.list(path))
    add(caching, "other")
    found = events(
        caching, path, 4, resourceVersion=version, allowWatchBookmarks=True, fieldSelector="metadata.name=none"
    )
    marks = [event["object"] for event in found if event["type"] == "BOOKMARK"]
    assert marks[-1]["kind"] == "ConfigMap"
    assert int(version_of(marks[-1])) > int(version)
    assert list(events(caching, path, 1, resourceVersion=version_of(marks[-1]))) == []


def test_a_watch_ends_after_the_time_that_it_asked_for(kube: Kube) -> None:
    version = version_of(kube.api.list(kube.path("pods")))
    assert list(events(kube, kube.path("pods"), 1, resourceVersion=version)) == []


def test_what_happens_while_a_watch_is_open_arrives(kube: Kube) -> None:
    version = version_of(kube.api.list(kube.path("pods")))
    batches = kube.api.lines(kube.path("pods"), 10, idle=0.05, resourceVersion=version)
    assert next(batches) == []
    add(kube, "late")
    lines = eventually(lambda: next(batches), 5)
    assert len(lines) == 1
    assert b'"name":"late"' in lines[0]
