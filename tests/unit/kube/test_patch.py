"""The three kinds of patches."""

from __future__ import annotations

from typing import Any

import pytest

from compose.sandbox.kube.patch import patched
from compose.sandbox.kube.refusal import ApiRefusal

MERGE, JSON, STRATEGIC = (f"application/{kind}+json" for kind in ("merge-patch", "json-patch", "strategic-merge-patch"))


@pytest.mark.parametrize(
    "body, patch, result",
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": 1}, {"a": None}, {"b": 1}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_is_that_of_rfc_7386(body: Any, patch: Any, result: Any) -> None:
    assert patched(body, patch, MERGE) == result


@pytest.mark.parametrize(
    "operations, result",
    [
        ([{"op": "add", "path": "/list/1", "value": "x"}], {"list": ["a", "x", "b"], "o": {"k": 1}}),
        ([{"op": "add", "path": "/list/-", "value": "x"}], {"list": ["a", "b", "x"], "o": {"k": 1}}),
        ([{"op": "remove", "path": "/list/0"}], {"list": ["b"], "o": {"k": 1}}),
        ([{"op": "replace", "path": "/o/k", "value": 2}], {"list": ["a", "b"], "o": {"k": 2}}),
        ([{"op": "move", "from": "/o/k", "path": "/o/a~1b"}], {"list": ["a", "b"], "o": {"a/b": 1}}),
        ([{"op": "copy", "from": "/o", "path": "/p"}], {"list": ["a", "b"], "o": {"k": 1}, "p": {"k": 1}}),
        ([{"op": "test", "path": "/o/k", "value": 1}], {"list": ["a", "b"], "o": {"k": 1}}),
    ],
)
def test_a_json_patch_is_that_of_rfc_6902(operations: Any, result: Any) -> None:
    body = {"list": ["a", "b"], "o": {"k": 1}}
    assert patched(body, operations, JSON) == result
    assert body == {"list": ["a", "b"], "o": {"k": 1}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/o", "value": 2},
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "add", "path": "/list/9", "value": 1},
        {"op": "add", "path": "/none/x", "value": 1},
        {"op": "explode", "path": "/o"},
        {"path": "/o"},
        "no operation",
    ],
)
def test_an_operation_that_does_not_apply_is_refused(operation: Any) -> None:
    with pytest.raises(ApiRefusal) as raised:
        patched({"list": [], "o": 1}, [operation], JSON)
    assert raised.value.code == 422


def test_a_strategic_patch_joins_lists_by_their_keys() -> None:
    body = {"spec": {"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]}}
    patch = {"spec": {"containers": [{"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}, {"name": "c"}]}}
    containers = patched(body, patch, STRATEGIC)["spec"]["containers"]
    assert containers == [{"name": "a", "image": "2", "env": [{"name": "X", "value": "1"}]}, {"name": "c"}]


def test_a_strategic_patch_adds_finalizers_and_removes_named_ones() -> None:
    body = {"metadata": {"finalizers": ["a", "b"]}}
    assert patched(body, {"metadata": {"finalizers": ["c"]}}, STRATEGIC)["metadata"]["finalizers"] == ["a", "b", "c"]
    drop = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert patched(body, drop, STRATEGIC)["metadata"]["finalizers"] == ["b"]


def test_an_unknown_kind_of_patch_is_refused() -> None:
    with pytest.raises(ApiRefusal) as raised:
        patched({}, {}, "application/apply-patch+yaml")
    assert raised.value.code == 415
