"""Labels of namespaces are read again after a while, and not before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from events.kube_api import KubeApi, NotFound
from workers.kube.namespaces import Namespaces


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
