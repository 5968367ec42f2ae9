"""What workers and beat do with keys, as seen in the diary of a reconciler."""

from __future__ import annotations

import os
import signal
import time
from itertools import pairwise

import pytest

from berthmaster import routing
from tests.integration.worker.fleet import Fleet
from tests.support.waiting import eventually

RUN_STARTED, RUN_ENDED = "started", "ended"


def spans(fleet: Fleet, key: str) -> list[tuple[float, float]]:
    """Start and end of each finished run."""
    ends = {entry.token: entry.at for entry in fleet.diary(key, RUN_ENDED)}
    return sorted((entry.at, ends[entry.token]) for entry in fleet.diary(key, RUN_STARTED) if entry.token in ends)


def asked(key: str) -> bytes:
    """A message of a service that names the key."""
    return routing.message(routing.PORTS_RECONCILE, key)


def overlap(some: list[tuple[float, float]], others: list[tuple[float, float]]) -> bool:
    return any(start < other_end and other_start < end for start, end in some for other_start, other_end in others)


@pytest.mark.row("EV-05")
def test_runs_of_a_key_follow_one_another_while_other_keys_run(fleet: Fleet, pod: str) -> None:
    other = f"{pod}-other"
    for version in range(1, 9):
        for key in (pod, other):
            fleet.mark(key, version, seconds=0.2)
            fleet.redis.lpush(routing.LATENCY, asked(key), asked(key))
        eventually(lambda at=version: len(fleet.diary(pod, RUN_STARTED)) * 2 >= at)  # type: ignore[misc]  # mypy infers no lambda with a default
    eventually(lambda: fleet.settled() and len(spans(fleet, pod)) > 2)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans(fleet, pod)))
    assert overlap(spans(fleet, pod), spans(fleet, other))


@pytest.mark.row("EV-06")
def test_a_thousand_changes_of_a_key_are_a_handful_of_runs_and_the_last_one_counts(fleet: Fleet, pod: str) -> None:
    for version in range(1, 1001):
        fleet.mark(pod, version, seconds=0.1)
    eventually(lambda: [entry.version for entry in fleet.diary(pod, RUN_ENDED)][-1:] == [1000], timeout=20)
    eventually(fleet.settled)
    taken = spans(fleet, pod)
    assert len(taken) <= (taken[-1][1] - taken[0][0]) / 0.1 + 1  # one after the other, never more


@pytest.mark.row("EV-07")
def test_a_task_delivered_twice_runs_its_key_once(fleet: Fleet, pod: str) -> None:
    keys = [f"{pod}-{number}" for number in range(20)]
    for key in keys:
        fleet.mark(key, effect=True)
        fleet.redis.lpush(routing.LATENCY, asked(key))
    eventually(lambda: all(fleet.diary(key, RUN_ENDED) for key in keys) and fleet.all_acknowledged())
    assert all(len(fleet.diary(key, "effect")) == 1 for key in keys)


@pytest.mark.row("EV-08")
def test_a_run_longer_than_the_visibility_timeout_is_not_repeated(fleet: Fleet, pod: str) -> None:
    again = {"kind": "drain", "reason": "clean"}
    before = fleet.metric("berthmaster_takes_refused_total", **again)
    fleet.mark(pod, seconds=5, keeps=True, effect=True)  # the broker delivers its message again after 2 s
    eventually(lambda: fleet.diary(pod, RUN_ENDED) and fleet.all_acknowledged(), timeout=20)
    assert [entry.event for entry in fleet.diary(pod)] == [RUN_STARTED, "effect", RUN_ENDED]
    assert fleet.metric("berthmaster_takes_refused_total", **again) > before


@pytest.mark.row("EV-09")
def test_a_worker_that_was_suspended_past_its_lease_does_nothing_more(fleet: Fleet, pod: str) -> None:
    fleet.mark(pod, seconds=1, effect=True)
    first = eventually(lambda: fleet.diary(pod, RUN_STARTED))[0]
    os.kill(first.process, signal.SIGSTOP)
    try:
        eventually(lambda: [entry.token for entry in fleet.diary(pod, RUN_ENDED)], timeout=25)
    finally:
        os.kill(first.process, signal.SIGCONT)
    eventually(lambda: first.token in [entry.token for entry in fleet.diary(pod, RUN_ENDED)])
    eventually(fleet.settled, timeout=20)  # a refused end marks the key: what the late run did may need a look
    assert first.token not in [entry.token for entry in fleet.diary(pod, "effect")]
    assert fleet.diary(pod, "effect")


@pytest.mark.row("EV-12")
def test_a_waiting_key_runs_no_more_often_than_it_asked_for(fleet: Fleet, pod: str) -> None:
    fleet.mark(pod, waits=1)
    eventually(lambda: len(fleet.diary(pod, RUN_STARTED)) >= 4, timeout=20)
    fleet.mark(pod, version=2)  # and settles
    starts = [entry.at for entry in fleet.diary(pod, RUN_STARTED)][:4]
    assert all(later - earlier >= 0.99 for earlier, later in pairwise(starts))


@pytest.mark.row("EV-13")
@pytest.mark.parametrize("failure", ["transient", "bug"])
def test_a_failing_key_waits_longer_each_time(fleet: Fleet, pod: str, failure: str) -> None:
    fleet.mark(pod, fails=failure)
    eventually(lambda: len(fleet.diary(pod, RUN_STARTED)) >= 4, timeout=25)
    fleet.mark(pod, version=2)  # and settles
    runs = fleet.diary(pod, RUN_STARTED)[:4]
    assert [run.tries for run in runs] == [0, 1, 2, 3]
    bounds = [0.2, 0.4, 0.8]  # half of 0.4 s, doubled each time: the other half is chance
    assert all(later.at - earlier.at >= bound for (earlier, later), bound in zip(pairwise(runs), bounds, strict=True))


@pytest.mark.row("EV-13")
def test_a_time_named_by_the_other_side_is_kept(fleet: Fleet, pod: str) -> None:
    fleet.mark(pod, fails="later")
    eventually(lambda: len(fleet.diary(pod, RUN_STARTED)) >= 3, timeout=20)
    fleet.mark(pod, version=2)
    starts = [entry.at for entry in fleet.diary(pod, RUN_STARTED)][:3]
    assert all(later - earlier >= 0.99 for earlier, later in pairwise(starts))


@pytest.mark.row("EV-12")
def test_a_terminal_failure_is_left_alone_until_something_changes(fleet: Fleet, pod: str) -> None:
    fleet.mark(pod, fails="terminal")
    eventually(lambda: fleet.diary(pod, RUN_ENDED) and fleet.settled())
    fleet.mark(f"{pod}-later", waits=1)
    eventually(lambda: len(fleet.diary(f"{pod}-later", RUN_ENDED)) >= 3, timeout=20)  # sweeps have come and gone
    fleet.mark(f"{pod}-later", version=2)
    assert len(fleet.diary(pod, RUN_STARTED)) == 1


@pytest.mark.row("EV-17")
def test_each_run_that_has_not_settled_leaves_one_line_with_key_outcome_and_reason(fleet: Fleet, pod: str) -> None:
    fleet.mark(pod, fails="bug")
    eventually(lambda: len(fleet.diary(pod, RUN_ENDED)) >= 2)
    fleet.mark(pod, version=2)
    eventually(lambda: [entry.version for entry in fleet.diary(pod, RUN_ENDED)][-1] == 2 and fleet.settled())

    def lines() -> list[dict[str, object]]:
        return [line for worker in fleet.workers for line in worker.log_lines() if line.get("key") == pod]

    ended = eventually(lambda: [line for line in lines() if line["event"] == "key_reconciled"])
    failed = [line for line in ended if line["outcome"] == "failed"]
    assert len(failed) == len(ended)  # what a settled run has done, it has said
    assert {"token", "tries", "seconds", "timestamp", "level"} <= failed[0].keys()
    assert failed[0]["reason"] == "a bug"
    assert failed[0]["wait"]
    assert any("ZeroDivisionError" in str(line.get("exception")) for line in lines())


@pytest.mark.row("EV-12")
def test_a_second_beat_adds_no_work(fleet: Fleet) -> None:
    def ticks(outcome: str) -> float:
        return fleet.metric("berthmaster_ticks_total", task=routing.QUEUE_TICK, outcome=outcome)

    second = fleet.process("beat", "beat-second", {}).ready()
    try:
        eventually(lambda: ticks("skipped") >= 1, timeout=20)
        began, done, skipped = time.monotonic(), ticks("done"), ticks("skipped")
        eventually(lambda: ticks("skipped") >= skipped + 3, timeout=20)
        assert ticks("done") - done <= (time.monotonic() - began) / 0.9 + 1
    finally:
        second.kill()


@pytest.mark.row("EV-07")
def test_a_service_may_ask_for_a_run_of_a_key_that_did_not_change(fleet: Fleet, pod: str) -> None:
    fleet.mark(pod)
    eventually(lambda: fleet.diary(pod, RUN_ENDED) and fleet.settled())
    asked = (pod, True)
    fleet.redis.lpush(routing.LATENCY, routing.message(routing.PORTS_RECONCILE, *asked))
    eventually(lambda: len(fleet.diary(pod, RUN_ENDED)) == 2)
