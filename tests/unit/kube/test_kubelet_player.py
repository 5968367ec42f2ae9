"""What the player of pods does when its view of a pod is older than its own writes."""

from __future__ import annotations

from typing import Any

from compose.sandbox.kube.kubelet.player import Player
from compose.sandbox.kube.kubelet.steps import Pace

Json = dict[str, Any]
KEY = ("games", "a")


class Recorder:
    """Stands for the API; keeps what is patched."""

    def __init__(self) -> None:
        self.patches: list[Json] = []

    def patch(self, _path: str, body: Json) -> Json:
        self.patches.append(body)
        return body


def pending(version: int, uid: str = "u1") -> Json:
    metadata = {"namespace": "games", "name": "a", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {"nodeName": "sandbox"}, "status": {"phase": "Pending"}}


def player(api: Recorder) -> Player:
    return Player(api, pace=Pace(start=0.0))  # type: ignore[arg-type]  # the recorder has what reports need


def test_a_pod_keeps_the_address_that_it_was_given_before_the_watch_shows_it() -> None:
    api = Recorder()
    plays = player(api)
    for version in (5, 6):  # somebody annotated the pod; the report itself is not in the watch yet
        plays.note(pending(version))
        plays.play(KEY)
    first, second = (patch["status"]["podIPs"] for patch in api.patches)
    assert first == second


def test_a_report_is_of_the_version_that_it_was_made_from() -> None:
    api = Recorder()
    plays = player(api)
    plays.note(pending(5))
    plays.play(KEY)
    assert api.patches[0]["metadata"] == {"uid": "u1", "resourceVersion": "5"}


def test_a_new_pod_of_the_name_gets_an_address_of_its_own() -> None:
    api = Recorder()
    plays = player(api)
    for uid in ("u1", "u2"):
        plays.note(pending(5, uid))
        plays.play(KEY)
    first, second = (patch["status"]["podIPs"] for patch in api.patches)
    assert first != second
