"""Versions, history and what can be looked at of it."""

from __future__ import annotations

import pytest

from compose.sandbox.kube.kinds import PODS
from compose.sandbox.kube.refusal import ApiRefusal
from compose.sandbox.kube.storage import Store


def body(name: str, **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "n", "labels": labels}}


def names(store: Store, version: int) -> list[str]:
    return [item.metadata["name"] for item in store.at(PODS, version)]


def test_the_past_can_be_listed_as_it_was() -> None:
    store = Store()
    first = store.put(PODS, body("a")).version
    second = store.put(PODS, body("b")).version
    store.put(PODS, body("a", k="v"))
    third = store.remove(PODS, ("n", "a")).version
    assert [names(store, version) for version in (first, second, third)] == [["a"], ["a", "b"], ["b"]]
    assert store.at(PODS, second)[0].metadata["labels"] == {}


def test_only_the_latest_changes_are_known() -> None:
    store = Store(history=3)
    versions = [store.put(PODS, body("a", n=str(index))).version for index in range(20)]
    assert [change.version for change in store.since(PODS, versions[-3])] == versions[-2:]
    with pytest.raises(ApiRefusal) as raised:
        store.since(PODS, versions[0])
    assert raised.value.code == 410


def test_after_a_compaction_only_the_present_is_known() -> None:
    store = Store()
    before = store.put(PODS, body("a")).version
    store.put(PODS, body("b"))
    store.compact()
    assert store.since(PODS, store.version) == []
    with pytest.raises(ApiRefusal):
        store.since(PODS, before)


def test_a_stored_body_is_never_changed() -> None:
    store = Store()
    given = body("a")
    item = store.put(PODS, given)
    store.put(PODS, body("a", k="v"))
    assert "resourceVersion" not in given["metadata"]  # type: ignore[operator]  # a dict, as written above
    assert item.metadata["labels"] == {}
