"""Metrics that are computed, and what all have in common."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from tests.support.registries import counted
from workers.telemetry.gauges import Samples, StateGauges
from workers.telemetry.metrics import kind_of


def scraped(collector: StateGauges) -> str:
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry).decode()


def test_each_number_is_a_gauge_with_its_labels() -> None:
    told: dict[str, Samples] = {
        "berthmaster_queue_keys": {("dirty",): 3, ("held",): 1},
        "berthmaster_queue_oldest_seconds": {(): 2.5},
    }
    text = scraped(StateGauges(lambda: told))
    assert 'berthmaster_queue_keys{state="dirty"} 3.0' in text
    assert "berthmaster_queue_oldest_seconds 2.5" in text
    assert "berthmaster_state_readable 1.0" in text


def test_a_state_that_cannot_be_read_has_no_gauges() -> None:
    def away() -> dict[str, Samples]:
        raise ConnectionError("away")

    text = scraped(StateGauges(away))
    assert "berthmaster_queue" not in text
    assert "berthmaster_state_readable 0.0" in text


def test_metrics_tell_kinds_of_keys_apart_and_not_keys() -> None:
    assert kind_of("pod/games/lobby-0") == "pod"
    assert kind_of("portpool/arena") == "portpool"


def test_every_counter_has_labels_for_without_them_prefork_s_children_would_not_share_it() -> None:
    ours = {name: labels for name, labels in counted().items() if not name.startswith("berthmaster_publisher_")}
    assert len(ours) > 15
    assert [name for name, labels in ours.items() if not labels] == []
