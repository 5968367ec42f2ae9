"""The log on the page of a job, as the page asks for it."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from berthmaster.jobs.logs import LogPosition
from tests.support.jobs.job_lines import write_lines
from tests.support.servers.shown_fleet import POOL, ShownFleet
from workers.fleet_pages.job_log import job_log
from workers.fleet_pages.readers import FleetReaders


def texts(log: dict[str, Any] | None) -> list[str]:
    assert log
    return [part.get("gap") or part["text"] for part in log["lines"]]


@pytest.mark.row("UI-26")
def test_a_page_gets_the_lines_after_those_that_it_has(redis: Redis, shown: ShownFleet) -> None:
    readers = FleetReaders(redis)
    assert job_log(readers, POOL, "deploy-1") is None
    shown.jobs.add("a")
    shown.jobs.submit("deploy-1", "plan", "apply")
    shown.jobs.deliver_all()
    plan = shown.jobs.only()
    write_lines(shown.jobs.ledger, "deploy-1", plan, "\x1b[2Jclear", "<b>two</b>", first=3)
    log = job_log(readers, POOL, "deploy-1")
    assert texts(log) == ["2 earlier lines not kept", "\\u001b[2Jclear", "<b>two</b>"]
    assert log
    assert (log["attempt"], log["more"], log["ended"]) == (plan, False, False)
    after = LogPosition.parse(log["after"])
    write_lines(shown.jobs.ledger, "deploy-1", plan, "nine", first=9, ended=True)
    shown.jobs.ended("a", plan)
    log = job_log(readers, POOL, "deploy-1", "", plan, after)
    assert texts(log) == ["4 lines missing here", "nine"]
    assert log
    assert log["ended"]
    shown.jobs.confirm("deploy-1", plan)
    shown.jobs.deliver_all()
    apply = shown.jobs.only()
    write_lines(shown.jobs.ledger, "deploy-1", apply, "applied", first=3, phase="apply")
    log = job_log(readers, POOL, "deploy-1", "", plan, LogPosition.parse(log["after"]))
    assert texts(log) == ["2 earlier lines not kept", "applied"]
    assert log
    assert log["attempts"] == [{"attempt": plan, "phase": "plan"}, {"attempt": apply, "phase": "apply"}]
    assert texts(job_log(readers, POOL, "deploy-1", plan))[-1] == "nine"
