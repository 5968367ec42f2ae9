"""Settings of the publisher: read from variables, and refused where they contradict each other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from berthmaster.redis.settings import StateSettings
from events.settings import LeaseSettings, ProcessSettings, WatchSettings


def test_variables_reach_the_nested_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTHMASTER_PUBLISHER__POD_SELECTOR", "tier=edge")
    monkeypatch.setenv("BERTHMASTER_PUBLISHER__NAMESPACE", "games")
    monkeypatch.setenv("BERTHMASTER_PUBLISHER__LEASE__DURATION", "30s")
    monkeypatch.setenv("BERTHMASTER_REDIS__URL", "redis://elsewhere:6379/1")
    read = ProcessSettings(cluster="blue")
    assert (read.publisher.pod_selector, read.publisher.namespace) == ("tier=edge", "games")
    assert read.publisher.lease.duration == timedelta(seconds=30)
    assert read.redis.url == "redis://elsewhere:6379/1"


@pytest.mark.parametrize(
    "times",
    [{"renew_deadline": "15s"}, {"retry_every": "10s"}, {"duration": "5s"}, {"duration": "0.5s"}],
)
def test_a_holder_must_stop_before_another_may_follow_and_renew_before_it_stops(times: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LeaseSettings(**times)


def test_a_stream_may_not_count_as_dead_before_a_list_was_tried() -> None:
    with pytest.raises(ValidationError, match="dead_after"):
        WatchSettings.model_validate({"dead_after": "2m"})


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValidationError):
        WatchSettings.model_validate({"inactivity": "2m"})


@pytest.mark.parametrize(
    ("given", "promoted", "seconds"),
    [
        ({"url": "redis://one:6379/0"}, False, 0),
        ({"url": "redis://one:6379/0"}, True, 15),
        ({"url": "redis+sentinel://one:26379/berths/0"}, False, 15),
        ({"url": "redis+sentinel://one:26379/berths/0", "failover_wait": "0s"}, True, 0),
        ({"url": "rediss://managed:6379/0", "failover_wait": "20s"}, False, 20),
    ],
)
def test_who_may_meet_another_master_waits_for_the_end_of_the_old_one(
    given: dict[str, Any], promoted: bool, seconds: int
) -> None:
    assert StateSettings.model_validate(given).rest(promoted=promoted) == timedelta(seconds=seconds)
