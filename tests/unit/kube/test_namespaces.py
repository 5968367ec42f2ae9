"""Labels of namespaces are read again after a while, and not before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from events.kube.api import KubeApi, NotFound
from workers.kube.namespaces import MOST_CHARACTERS, MOST_KEPT, Namespaces


class Api:
    def __init__(self) -> None:
        self.asked = 0
        self.labels: dict[str, str] | None = {"team": "a"}

    def get(self, _: str) -> dict[str, Any]:
        self.asked += 1
        if self.labels is None:
            raise NotFound(404, "NotFound", "")
        return {"metadata": {"labels": self.labels}}


def test_labels_are_kept_for_a_while() -> None:
    api, now = Api(), [100.0]
    namespaces = Namespaces(cast("KubeApi", api), timedelta(seconds=30), lambda: now[0])
    assert namespaces.labels("games") == {"team": "a"}
    api.labels = {"team": "b"}
    now[0] += 29
    assert namespaces.labels("games") == {"team": "a"}
    now[0] += 1
    assert (namespaces.labels("games"), api.asked) == ({"team": "b"}, 2)


def test_a_namespace_that_is_gone_has_no_labels() -> None:
    api = Api()
    api.labels = None
    assert Namespaces(cast("KubeApi", api)).labels("games") == {}


@pytest.mark.row("HO-03")
def test_what_is_kept_of_namespaces_is_bounded_in_number_and_length() -> None:
    api = Api()
    namespaces = Namespaces(cast("KubeApi", api))
    api.labels = {"team": "x" * MOST_CHARACTERS}
    for _ in range(3):
        assert namespaces.labels("long") == api.labels
    assert api.asked == 3, "long ones are read each time"
    api.labels = {"team": "a"}
    for number in range(MOST_KEPT):
        namespaces.labels(f"n{number}")
    asked = api.asked
    namespaces.labels("n0")
    assert api.asked == asked, "as many as are kept are asked for once"
    namespaces.labels("one-more")
    namespaces.labels("n0")
    assert api.asked == asked + 2
