"""What a task says that it did."""

from __future__ import annotations

from workers.telemetry.task_summary import in_words, listen, summarise


def test_a_line_is_the_event_and_its_facts_without_what_every_line_has() -> None:
    event = {"event": "port_allocated", "pod": "games/a", "port": 30000, "lb": "", "level": "info", "token": "1-a"}
    assert in_words(event) == "port_allocated pod=games/a port=30000"


def test_several_values_of_a_fact_are_written_side_by_side() -> None:
    event = {"event": "load_balancers_added", "pool": "arena", "lbs": ["bm-0", "bm-1"], "woken": 8}
    assert in_words(event) == "load_balancers_added pool=arena lbs=bm-0,bm-1 woken=8"


def test_outside_of_a_task_nothing_is_kept() -> None:
    event = {"event": "port_allocated", "pod": "games/a"}
    said: list[object] = []
    assert summarise(lambda: said.append(listen(None, "info", event))) is None
    assert said == [event]
