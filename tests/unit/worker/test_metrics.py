"""Metrics that are computed, not counted."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from workers.metrics import QueueDepth, kind_of


def scraped(collector: QueueDepth) -> str:
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry).decode()


def test_the_depth_of_the_queue_is_a_gauge_a_state() -> None:
    text = scraped(QueueDepth(lambda: {"dirty": 3, "held": 1, "oldest_queued_seconds": 2.5}))
    assert 'berthmaster_queue_keys{state="dirty"} 3.0' in text
    assert "berthmaster_queue_oldest_seconds 2.5" in text


def test_a_queue_that_cannot_be_read_has_no_gauges() -> None:
    def away() -> dict[str, float]:
        raise ConnectionError("away")

    assert "berthmaster_queue" not in scraped(QueueDepth(away))


def test_metrics_tell_kinds_of_keys_apart_and_not_keys() -> None:
    assert kind_of("pod/games/lobby-0") == "pod"
    assert kind_of("portpool/arena") == "portpool"
