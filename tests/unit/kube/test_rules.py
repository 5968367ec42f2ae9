"""Rules of custom resources, beyond what the contract with the real API shows."""

from __future__ import annotations

from typing import Any

import pytest

from compose.sandbox.kube.rules import broken

Json = dict[str, Any]


def verdicts(rule: str, value: Any, old: Any = None, **more: Any) -> list[str]:
    properties = {name: {"type": "string"} for name in ("a", "b", "namespace", "x-y")} | {"n": {"type": "number"}}
    schema = {"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule, **more}]}
    return list(broken(schema, value, old, "spec"))


@pytest.mark.parametrize(
    "rule, value, holds",
    [
        ("self.__namespace__ == 'x'", {"namespace": "x"}, True),
        ("self.x__dash__y == 'x'", {"x-y": "x"}, True),
        ("self.n / 2.0 == 0.5", {"n": 1}, True),
        ("self.a.split(',').size() == 2", {"a": "1,2"}, True),
        ("['b', 'a'].isSorted()", {}, False),
        ("[1, 2].sum() == 3", {}, True),
        ("self.a.find('[0-9]+') == '12'", {"a": "x12y"}, True),
        ("self.a.indexOf('b') == 1 && [1, 2].indexOf(2) == 1", {"a": "ab"}, True),
        ("['a', 'b'].join('-') == 'a-b' && self.a.upperAscii() == 'X'", {"a": "x"}, True),
        ("isURL(self.a)", {"a": "https://x.dev"}, True),
        ("isIP(self.a)", {"a": "not"}, False),
        ("self.missing == 'x'", {}, False),
    ],
)
def test_kubernetes_additions_to_the_language_work(rule: str, value: Json, holds: bool) -> None:
    assert (verdicts(rule, value) == []) is holds


def test_a_rule_about_the_old_object_waits_for_one_unless_it_is_optional() -> None:
    assert verdicts("self.a == oldSelf.a", {"a": "1"}) == []
    assert verdicts("self.a == oldSelf.a", {"a": "1"}, {"a": "2"}) != []


def test_a_message_may_be_an_expression_and_a_fault_may_be_elsewhere() -> None:
    found = verdicts("false", {"a": "1"}, messageExpression="'not ' + self.a", fieldPath=".a")
    assert found == ["spec.a: Invalid value: not 1"]


def test_elements_are_compared_with_those_of_the_same_key() -> None:
    item = {"type": "object", "x-kubernetes-validations": [{"rule": "self.v == oldSelf.v", "message": "fixed"}]}
    schema = {"items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    old = [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    assert list(broken(schema, [{"k": "b", "v": 2}, {"k": "c", "v": 9}], old)) == []
    assert list(broken(schema, [{"k": "b", "v": 3}], old)) == ["[0]: Invalid value: fixed"]
