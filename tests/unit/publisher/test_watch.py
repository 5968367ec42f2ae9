"""The watch against a scripted API server: it stays in step whatever the stream does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from threading import Event
from typing import Any

import pytest

from berthmaster.kinds import PORT_POOL
from events.kube.api import KubeApi
from events.publisher.resources import pods, resource_of
from events.publisher.watch import Absent, Batch, Change, Listing, ResourceWatch
from events.settings import KubernetesSettings, WatchSettings
from tests.support.pods.pods import pod
from tests.support.servers.scripted_watch import (
    PODS,
    POOLS,
    ScriptedApi,
    empty,
    expired,
    failing_list,
    replaying,
    silent,
    told,
    version_of,
)

FAST: dict[str, Any] = {
    "inactivity_timeout": timedelta(milliseconds=300),
    "steady_after": timedelta(milliseconds=200),
    "backoff_first": timedelta(milliseconds=20),
    "backoff_longest": timedelta(milliseconds=200),
    "absent_retry": timedelta(milliseconds=20),
}


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    with ScriptedApi() as api:
        yield api


class Followed:
    """A watch and what it told so far, as a reader would keep it: names and versions of the living."""

    def __init__(self, api: ScriptedApi, path: str = PODS, **settings: Any) -> None:
        kube = KubeApi.connect(KubernetesSettings(server=api.url))
        self.stop = Event()
        resource = pods() if path == PODS else resource_of(PORT_POOL)
        self.watch = ResourceWatch(kube, resource, WatchSettings(**{**FAST, **settings}), self.stop)
        self.changes = self.watch.follow()
        self.reasons: list[str] = []
        self.seen: list[tuple[str, str, int]] = []
        self.old = 0

    def take(self, changes: int) -> list[Change]:
        return [self.note(change) for change in islice(self.changes, changes)]

    def until(self, *seen: tuple[str, str], lists: int = 1) -> None:
        """Reads on until the events (kind, name) and so many lists have come."""
        deadline = time.monotonic() + 10
        while len(self.reasons) < lists or not set(seen) <= {(k, n) for k, n, _ in self.seen}:
            assert time.monotonic() < deadline, (self.reasons, self.seen)
            self.take(1)

    def note(self, change: Change) -> Change:
        match change:
            case Listing():
                self.reasons.append(change.reason)
                self.seen += [("LISTED", i.mark.key.rpartition("/")[2], i.mark.version) for i in change.items]
            case Batch():
                self.old += change.old
                for event in change.events:
                    meta = event["object"]["metadata"]
                    self.seen.append((event["type"], meta["name"], int(meta["resourceVersion"])))
            case Absent():
                self.reasons.append("absent")
        return change


@pytest.mark.row("EV-01")
def test_a_list_comes_first_then_what_happens_after_it(api: ScriptedApi) -> None:
    api.world.put(PODS, pod("a"))
    followed = Followed(api)
    assert isinstance(followed.take(1)[0], Listing)
    api.world.put(PODS, pod("b"))
    api.world.delete(PODS, "games/a")
    followed.until(("LISTED", "a"), ("ADDED", "b"), ("DELETED", "a"))
    assert followed.reasons == ["start"]


@pytest.mark.row("EV-01")
def test_lists_are_never_taken_from_the_servers_cache_and_watches_ask_for_bookmarks(api: ScriptedApi) -> None:
    """Rule consistent."""
    followed = Followed(api)
    followed.take(1)
    api.world.put(PODS, pod("a"))
    followed.until(("ADDED", "a"))
    (_, _, listed), (_, _, watched) = api.requests[:2]
    assert "resourceVersion" not in listed
    assert (watched["allowWatchBookmarks"], watched["resourceVersion"]) == ("true", "100")


@pytest.mark.row("EV-01")
def test_five_410s_at_once_are_five_lists_and_no_event_is_missed_or_doubled(api: ScriptedApi) -> None:
    api.world.put(PODS, pod("a"))
    api.watches[PODS].extend([expired] * 5)
    followed = Followed(api)
    followed.until(lists=6)
    api.world.put(PODS, pod("b"))
    followed.until(("ADDED", "b"), lists=6)
    assert followed.reasons == ["start"] + ["expired"] * 5
    assert [s for s in followed.seen if s[0] != "LISTED"] == [("ADDED", "b", 102)]


@pytest.mark.row("EV-01", "EV-13")
def test_410s_in_a_row_are_listed_ever_more_slowly(api: ScriptedApi) -> None:
    api.watches[PODS].extend([expired] * 20)
    followed = Followed(api, backoff_first=timedelta(milliseconds=50), backoff_longest=timedelta(seconds=5))
    started = time.monotonic()
    followed.until(lists=6)
    waited = time.monotonic() - started
    assert waited >= (0.05 + 0.1 + 0.2 + 0.4 + 0.8) / 2
    assert api.count(PODS, watch=False) == 6


@pytest.mark.row("EV-01")
def test_an_expired_stream_that_had_lasted_is_listed_at_once(api: ScriptedApi) -> None:
    followed = Followed(api, steady_after=timedelta(0), backoff_first=timedelta(seconds=60))
    api.watches[PODS].append(expired)
    followed.until(lists=2)
    assert followed.reasons == ["start", "expired"]


@pytest.mark.row("EV-02")
def test_a_silent_stream_is_noticed_and_opened_again_where_it_was(api: ScriptedApi) -> None:
    api.watches[PODS].append(silent)
    followed = Followed(api)
    followed.take(1)
    api.world.put(PODS, pod("a"))
    followed.until(("ADDED", "a"))
    assert followed.reasons == ["start"]


@pytest.mark.row("EV-02")
def test_a_server_whose_streams_stay_silent_is_listed(api: ScriptedApi) -> None:
    api.watches[PODS].extend([silent] * 4)
    followed = Followed(api)
    followed.take(1)
    api.world.put(PODS, pod("a"))
    followed.until(("LISTED", "a"), lists=2)
    assert followed.reasons == ["start", "stalled"]


def test_streams_that_end_at_once_are_opened_ever_more_slowly_without_lists(api: ScriptedApi) -> None:
    api.watches[PODS].extend([empty] * 6)
    followed = Followed(api)
    followed.take(1)
    api.world.put(PODS, pod("a"))
    started = time.monotonic()
    followed.until(("ADDED", "a"))
    assert time.monotonic() - started >= (0.02 + 0.04 + 0.08 + 0.16 + 0.2 + 0.2) / 2
    assert followed.reasons == ["start"]


@pytest.mark.row("EV-01")
def test_replayed_events_are_dropped(api: ScriptedApi) -> None:
    api.world.put(PODS, pod("a"))
    api.world.delete(PODS, "games/a")
    api.watches[PODS].append(replaying(0))
    followed = Followed(api)
    followed.take(1)
    api.world.put(PODS, pod("b"))
    followed.until(("ADDED", "b"))
    assert followed.seen == [("ADDED", "b", 103)]
    assert followed.old == 2


def test_a_bookmark_moves_the_watermark(api: ScriptedApi) -> None:
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "150"}}}
    api.watches[PODS].append(told(bookmark))
    followed = Followed(api)
    followed.take(2)
    api.world.version = 150
    api.world.put(PODS, pod("a"))
    followed.until(("ADDED", "a"))
    assert [q["resourceVersion"] for _, p, q in api.requests if p == PODS and "watch" in q][:2] == ["100", "150"]


def test_what_stood_before_an_error_line_is_not_lost(api: ScriptedApi) -> None:
    fresh = {"type": "ADDED", "object": pod("a", resourceVersion="101")}
    error = {"type": "ERROR", "object": {"kind": "Status", "code": 500, "reason": "InternalError"}}
    api.watches[PODS].append(told(fresh, error))
    followed = Followed(api)
    followed.until(("ADDED", "a"))
    assert followed.reasons == ["start"]


@pytest.mark.parametrize("line", [{"type": "ADDED", "object": {}}, {"html": "502"}, {"type": "ADDED", "object": None}])
def test_a_line_that_is_no_event_leads_to_a_list(api: ScriptedApi, line: dict[str, Any]) -> None:
    api.watches[PODS].append(told(line))
    followed = Followed(api)
    followed.until(lists=2)
    assert followed.reasons == ["start", "error"]


@pytest.mark.row("EV-03")
def test_an_event_that_never_came_is_found_by_the_list_of_the_resync(api: ScriptedApi) -> None:
    followed = Followed(api, resync_every=timedelta(milliseconds=300))
    followed.take(1)
    api.world.put(PODS, pod("a"), hidden=True)
    followed.until(("LISTED", "a"), lists=2)
    assert followed.reasons[:2] == ["start", "resync"]


def test_a_list_that_fails_is_asked_for_again(api: ScriptedApi) -> None:
    api.lists[PODS].extend([failing_list(500, "InternalError"), failing_list(403, "Forbidden")])
    followed = Followed(api)
    followed.take(1)
    assert followed.reasons == ["start"]


@pytest.mark.row("KU-11")
def test_a_list_below_what_was_seen_is_taken_whole_and_says_so(api: ScriptedApi) -> None:
    followed = Followed(api)
    followed.take(1)
    restore = api.world.backup()
    api.world.put(PODS, pod("a"))
    newest = version_of(api.world.delete(PODS, "games/a"))
    followed.until(("DELETED", "a"))
    restore()
    api.world.put(PODS, pod("b"))
    api.cut()
    listing = next(change for change in followed.changes if isinstance(change, Listing))
    assert (listing.reason, listing.version, listing.before) == ("behind", newest - 1, newest)
    assert [item.mark.key for item in listing.items] == ["pod/games/b"]


def test_a_kind_that_the_server_lacks_is_absent_once_and_followed_when_it_comes(api: ScriptedApi) -> None:
    followed = Followed(api, POOLS)
    assert isinstance(followed.take(1)[0], Absent)
    api.kinds.add(POOLS)
    followed.until(lists=2)
    assert followed.reasons == ["absent", "start"]


@pytest.mark.row("EV-16")
def test_a_stream_without_sign_of_life_is_dead_after_its_limit(api: ScriptedApi) -> None:
    followed = Followed(api, dead_after=timedelta(seconds=60))
    followed.take(1)
    assert followed.watch.pulse.alive
    followed.watch.pulse.at -= 61
    assert not followed.watch.pulse.alive
