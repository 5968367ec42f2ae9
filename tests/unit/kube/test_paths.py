"""Paths of the Kubernetes API are made of segments, and none of them leads elsewhere."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.kube.api import PATH, Invalid, KubeApi, path_of
from events.settings import KubernetesSettings
from workers.kube.pods import pod_path

ODD = ("", ".", "..", "../../../pods", "a/b", "a%2fb", "/")


@pytest.mark.row("HO-07")
def test_names_stand_in_paths_as_they_are() -> None:
    assert pod_path("games", "a-1.b") == "/api/v1/namespaces/games/pods/a-1.b"


@pytest.mark.row("HO-07")
@pytest.mark.parametrize("name", ODD)
def test_a_name_that_would_lead_elsewhere_is_no_part_of_a_path(name: str) -> None:
    with pytest.raises(Invalid, match="cannot be a part of a path"):
        pod_path("games", name)
    with pytest.raises(Invalid, match="cannot be a part of a path"):
        pod_path(name, "a")


@pytest.mark.row("HO-07")
@given(st.text(st.characters(codec="utf-8")))
def test_any_text_is_one_segment_or_none(name: str) -> None:
    try:
        path = pod_path("games", name)
    except Invalid:
        return
    root, _, last = path.rpartition("/")
    assert (root, unquote(last)) == ("/api/v1/namespaces/games/pods", name)
    assert PATH.fullmatch(path)


@pytest.mark.row("HO-07")
@pytest.mark.parametrize(
    "path", ["", "pods", "/a/../b", "/a//b", "/a/..", "/./a", "/a?b=c", "/a#b", "/a b", "/a/", "@b"]
)
def test_a_path_that_leads_elsewhere_is_never_sent(path: str) -> None:
    """Whoever made it: nothing listens at this address, and nothing is connected."""
    api = KubeApi.connect(KubernetesSettings(server="http://127.0.0.1:1"))
    with pytest.raises(Invalid, match="is no path of the API"):
        api.get(path)
    assert path_of("/api/v1", "pods") == "/api/v1/pods"
