"""What `explain pod` says of a pod as a whole."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import PORTS, PORTS_ENABLED, PREFIX
from domain.ports.pod import PodView
from events.workqueue import KeyState
from workers.cli.explain import document, lines
from workers.ports.explain import PodExplanation

QUIET = KeyState(dirty=False, held=False, ready_ms=None, due_ms=None, now_ms=0, tries=0, pools=())


@pytest.mark.row("EV-33")
def test_a_mistyped_annotation_is_named_with_the_one_that_is_meant() -> None:
    body = {f"{PREFIX}port": "7777", f"{PREFIX}ports-enable": "false", f"{PREFIX}cordon": "true"}
    pod = PodView.from_snapshot(1, {"namespace": "games", "name": "a", "uid": "u", "annotations": body})
    explanation = PodExplanation("games/a", pod, "", QUIET, None)
    assert [line for line in lines(explanation) if "annotation" in line] == [
        f"  annotation {PREFIX}port is unknown: is {PORTS} meant?",
        f"  annotation {PREFIX}ports-enable is unknown: is {PORTS_ENABLED} meant?",
    ]
    meant = {f"{PREFIX}port": PORTS, f"{PREFIX}ports-enable": PORTS_ENABLED}
    assert document(explanation)["pod"]["mistyped"] == meant
