"""Decisions about jobs as the server takes them: from whom, from where, and about what."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
import pytest
from redis import Redis

from berthmaster import routing
from tests.support.jobs.sent_tasks import sent_tasks
from tests.support.servers.flower import USER, VIEWER, Flower, Reply
from tests.support.servers.shown_fleet import ShownFleet

CONFIRM, CANCEL = "/fleet/confirm/ci/runners/deploy-1", "/fleet/cancel/ci/runners/deploy-1"


@pytest.fixture
def plan(shown: ShownFleet) -> str:
    """The plan of the job deploy-1, which waits for a person."""
    shown.jobs.add("a")
    return shown.jobs.planned("deploy-1")


def post(
    flower: Flower, path: str, body: Any, user: str = USER, site: str | None = "same-origin", **more: str
) -> Reply:
    headers = {"Sec-Fetch-Site": site} if site else {}
    return flower.ask("POST", path, user, body, **headers, **more)


@pytest.mark.row("UI-06")
def test_a_decision_is_sent_as_the_command_line_sends_it(flower: Flower, plan: str, redis: Redis) -> None:
    reply = post(flower, CONFIRM, {"job": "deploy-1", "plan": plan})
    assert (reply.status, orjson.loads(reply.body)) == (HTTPStatus.ACCEPTED, {"state": "reserved"})
    assert sent_tasks(redis)[0] == [routing.SLOTS_CONFIRM, "ci/runners", "deploy-1", plan, USER]
    assert post(flower, CANCEL, {"job": "deploy-1"}).status == HTTPStatus.ACCEPTED
    assert sent_tasks(redis)[0] == [routing.SLOTS_CANCEL, "ci/runners", "deploy-1", USER]


@pytest.mark.row("UI-05")
@pytest.mark.parametrize("site", [None, "cross-site", "same-site", "none"])
def test_a_page_from_elsewhere_decides_nothing(site: str | None, flower: Flower, plan: str, redis: Redis) -> None:
    for path, body in ((CONFIRM, {"job": "deploy-1", "plan": plan}), (CANCEL, {"job": "deploy-1"})):
        assert post(flower, path, body, site=site).status == HTTPStatus.FORBIDDEN
    assert sent_tasks(redis) == []


@pytest.mark.row("UI-05")
def test_who_may_only_look_decides_nothing(flower: Flower, plan: str, redis: Redis) -> None:
    for path, body in ((CONFIRM, {"job": "deploy-1", "plan": plan}), (CANCEL, {"job": "deploy-1"})):
        assert post(flower, path, body, VIEWER).status == HTTPStatus.FORBIDDEN
        assert post(flower, path, body, "stranger").status == HTTPStatus.UNAUTHORIZED
    assert sent_tasks(redis) == []
    page = orjson.loads(flower.ask("GET", "/fleet/data/job/ci/runners/deploy-1", VIEWER).body)
    assert page["actions"] == {}
    page = orjson.loads(flower.ask("GET", "/fleet/data/job/ci/runners/deploy-1").body)
    assert page["actions"] == {"confirm": plan, "cancel": True}


@pytest.mark.row("UI-05")
def test_only_a_whole_body_of_json_decides(flower: Flower, plan: str, redis: Redis) -> None:
    bodies: list[Any] = [{}, [], "x", {"job": "other"}, {"job": "deploy-1", "more": "x"}, {"plan": plan}]
    for body in bodies:
        assert post(flower, CANCEL, body).status == HTTPStatus.BAD_REQUEST, body
        assert post(flower, CONFIRM, body).status == HTTPStatus.BAD_REQUEST, body
    assert post(flower, CONFIRM, {"job": "deploy-1", "plan": ""}).status == HTTPStatus.BAD_REQUEST
    assert flower.ask("POST", CANCEL, **{"Sec-Fetch-Site": "same-origin"}).status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert post(flower, CANCEL, {"job": "deploy-1"}, **form).status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    assert flower.ask("GET", CANCEL).status == HTTPStatus.METHOD_NOT_ALLOWED
    assert sent_tasks(redis) == []


@pytest.mark.row("UI-06")
def test_what_is_not_so_any_more_is_not_decided(flower: Flower, shown: ShownFleet, plan: str, redis: Redis) -> None:
    other = post(flower, CONFIRM, {"job": "deploy-1", "plan": "1-1"})
    assert other.status == HTTPStatus.CONFLICT
    assert f"the plan that waits is {plan}" in orjson.loads(other.body)["problem"]
    shown.jobs.cancel("deploy-1")
    assert post(flower, CANCEL, {"job": "deploy-1"}).status in (HTTPStatus.ACCEPTED, HTTPStatus.CONFLICT)
    assert post(flower, "/fleet/cancel/ci/runners/x", {"job": "x"}).status == HTTPStatus.NOT_FOUND
    for name in ("..%2f", "%2A", "a%00", "%7Bsp%7D"):
        assert post(flower, f"/fleet/cancel/{name}/runners/x", {"job": "x"}).status == HTTPStatus.NOT_FOUND


@pytest.mark.row("UI-06")
def test_what_hides_or_steers_in_a_plan_is_shown(flower: Flower, shown: ShownFleet) -> None:
    shown.jobs.add("a")
    shown.jobs.submit("deploy-2", "plan", "apply")
    shown.jobs.deliver_all()
    attempt = shown.jobs.only()
    shown.jobs.send(
        shown.jobs.ledger.finish("deploy-2", "plan", attempt, "succeeded", "rm \u202e-rf\u001b[2K\n<b>").placed
    )
    page = orjson.loads(flower.ask("GET", "/fleet/data/job/ci/runners/deploy-2").body)
    assert page["texts"] == [{"title": f"Plan {attempt}", "text": "rm \\u202e-rf\\u001b[2K\n<b>"}]
