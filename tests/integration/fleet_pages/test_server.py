"""The pages as a server gives them: who may look, who may decide, and what a browser may do with them."""

from __future__ import annotations

import base64
import signal
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson
import pytest

from compose.sandbox.redis_server import RedisServer
from tests.support.jobs.job_lines import write_lines
from tests.support.servers.flower import VIEWER, Flower, running
from tests.support.servers.shown_fleet import ShownFleet
from tests.support.waiting import eventually

LOG = "/fleet/log/ci/runners/deploy-1"
ODD = ("-1", "%D9%A3", "1_0", "%FF", "..", "%2F", "a%00b", "9" * 21 + "-0:1", "9" * 5000, "x" * 300, "a:" + "9" * 5000)
"""Values in an address that are no number, no name and no position."""
TWO_NAMES = ("lb", "pod", "podpool", "podclaim", "podclaimset")
SAME_ORIGIN: dict[str, Any] = {"Sec-Fetch-Site": "same-origin"}
PAGES = ("/fleet", "/fleet/board", "/fleet/changes?from=a:1")


@pytest.mark.row("UI-02")
def test_the_fleet_comes_first_and_home_leads_there(flower: Flower) -> None:
    home = flower.ask("GET", "/")
    assert (home.status, home.headers["location"]) == (HTTPStatus.FOUND, "/fleet")
    for path in ("/fleet", "/workers", "/tasks"):
        page = flower.ask("GET", path).body.decode()
        assert page.index(">Fleet</a>") < page.index(">Workers</a>"), path


@pytest.mark.row("UI-02")
def test_nobody_looks_without_a_password(flower: Flower) -> None:
    for path in ("/", *PAGES):
        assert flower.ask("GET", path, user=None).status == HTTPStatus.UNAUTHORIZED, path
        assert flower.ask("GET", path, user="stranger").status == HTTPStatus.UNAUTHORIZED, path


@pytest.mark.row("UI-05")
def test_a_page_runs_no_other_script_and_stands_in_no_frame(flower: Flower) -> None:
    for path in PAGES:
        headers = flower.ask("GET", path).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert headers["x-frame-options"] == "DENY"
    page = flower.ask("GET", "/fleet").body.decode()
    assert "<script>" not in page
    assert "style=" not in page
    for path in ("/workers", "/tasks", "/fleet/static/live.js", "/static/js/theme.js"):
        assert flower.ask("GET", path).headers["x-frame-options"] == "DENY", path


@pytest.mark.row("UI-05")
def test_who_may_not_decide_changes_nothing_in_flower_either(flower: Flower) -> None:
    for path in ("/api/worker/shutdown/w", "/api/task/revoke/t", "/api/task/send-task/queue.tick", "/nowhere"):
        assert flower.ask("POST", path, VIEWER).status == HTTPStatus.FORBIDDEN, path
        assert flower.ask("POST", path).status != HTTPStatus.FORBIDDEN, path
        assert flower.ask("POST", path, user="stranger").status == HTTPStatus.UNAUTHORIZED, path


@pytest.mark.row("UI-05")
def test_who_may_only_look_sees_the_tasks_of_flower(flower: Flower) -> None:
    """Its table is read by POST."""
    asked = "draw=1&start=0&length=10&order[0][column]=0&order[0][dir]=asc&columns[0][data]=name"
    assert flower.ask("POST", f"/tasks/datatable?{asked}", VIEWER).status == HTTPStatus.OK
    assert flower.ask("POST", f"/tasks/datatable?{asked}", "stranger").status == HTTPStatus.UNAUTHORIZED


@pytest.mark.row("UI-03")
def test_the_board_has_pools_pods_claims_queue_and_events(flower: Flower, shown: ShownFleet) -> None:
    shown.bind("games/a", 2)
    shown.jobs.add("u1")
    shown.decide("enough slots idle", 1)
    shown.claim("games/two", "Pending")
    shown.event("allocation.failed", "pod/games/z", "no \u001bfree port")

    def everything_is_there() -> bool:
        """One reading may have what was written last and not what was written before it."""
        rows = flower.board()["rows"]
        assert "podpool/ci/runners" in rows
        assert rows["lb/arena/arena-lb-0"] == {"cells": "bb" + "." * 18, "first": 30000, "stage": "giving"}
        assert rows["pod/ci/runners/u1"] == ["pod-u1", "iii"]
        assert rows["claims/games"] == {"Bound": 1, "Pending": 1}
        assert rows["events"] == [["2026-01-01T00:00:00Z", "allocation.failed", "pod/games/z", "no \\u001bfree port"]]
        return True

    eventually(everything_is_there)


@pytest.mark.row("UI-02")
def test_below_a_prefix_and_read_only_and_without_the_way_home(redis_url: str, tmp_path: Path) -> None:
    log = tmp_path / "flower.log"
    arguments = ("--url-prefix=ops", "--read-only")
    with running(redis_url, log, *arguments, BERTHMASTER_FLOWER__HOME="false", prefix="/ops") as flower:
        assert flower.ask("GET", "/ops/fleet").status == HTTPStatus.OK
        assert 'data-base="/ops/fleet"' in flower.ask("GET", "/ops/fleet").body.decode()
        assert flower.ask("GET", "/ops/").status == HTTPStatus.OK
        for path in ("api/worker/shutdown/w", "fleet/cancel/ci/runners/x"):
            assert flower.ask("POST", f"/ops/{path}", body={"job": "x"}, **SAME_ORIGIN).status == HTTPStatus.FORBIDDEN


@pytest.mark.row("UI-05")
def test_nobody_decides_without_a_name(redis_url: str, tmp_path: Path) -> None:
    log = tmp_path / "flower.log"
    with running(
        redis_url, log, "--unauthenticated", FLOWER_UNAUTHENTICATED_API="true", FLOWER_BASIC_AUTH=""
    ) as flower:
        assert flower.ask("GET", "/fleet", user=None).status == HTTPStatus.OK
        assert flower.ask("POST", "/api/worker/shutdown/w", user=None).status == HTTPStatus.FORBIDDEN


@pytest.mark.row("UI-03", "UI-10")
def test_a_redis_that_hangs_blocks_nobody(flower: Flower, shown: ShownFleet, redis_server: RedisServer) -> None:
    shown.bind("games/a", 2)
    eventually(lambda: flower.board()["rows"].get("lb/arena/arena-lb-0"))
    process = redis_server.daemon.process
    assert process
    process.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: "problem/redis" in flower.board()["rows"])
        assert flower.ask("GET", "/fleet").status == HTTPStatus.OK
        assert flower.ask("GET", "/fleet/data/pod/games/a").status == HTTPStatus.SERVICE_UNAVAILABLE
        assert "lb/arena/arena-lb-0" in flower.board()["rows"], "what was read last stays"
    finally:
        process.send_signal(signal.SIGCONT)
    eventually(lambda: "problem/redis" not in flower.board()["rows"])


@pytest.mark.row("UI-29")
def test_an_object_that_does_not_exist_is_not_found(flower: Flower, shown: ShownFleet) -> None:
    shown.jobs.add("a")
    for path, said in {
        "portpool/nope": "there is no port pool nope, or not any more",
        "podclaim/games/nope": "there is no claim games/nope, or not any more",
        "job/ci/runners/nope": "there is no job ci/runners/nope, or not any more",
    }.items():
        data = flower.ask("GET", f"/fleet/data/{path}")
        assert (data.status, orjson.loads(data.body)) == (HTTPStatus.NOT_FOUND, {"problem": said}), path
        page = flower.ask("GET", f"/fleet/{path}")
        assert (page.status, b"/static/detail.js" in page.body) == (HTTPStatus.NOT_FOUND, True), path
    assert flower.ask("GET", "/fleet/portpool/arena").status == HTTPStatus.OK


@pytest.mark.row("UI-26")
def test_who_may_look_may_read_logs(flower: Flower, shown: ShownFleet) -> None:
    shown.jobs.add("a")
    plan = shown.jobs.planned("deploy-1")
    write_lines(shown.jobs.ledger, "deploy-1", plan, "printed")
    reply = flower.ask("GET", LOG, VIEWER)
    assert reply.status == HTTPStatus.OK
    assert [line["text"] for line in orjson.loads(reply.body)["lines"]] == ["printed"]
    assert flower.ask("GET", LOG, user=None).status == HTTPStatus.UNAUTHORIZED
    assert flower.ask("GET", LOG, user="stranger").status == HTTPStatus.UNAUTHORIZED
    for path, status in {
        "/fleet/log/ci/runners/other": HTTPStatus.NOT_FOUND,
        f"{LOG}?attempt=..": HTTPStatus.NOT_FOUND,
        f"{LOG}?after=1": HTTPStatus.BAD_REQUEST,
    }.items():
        assert flower.ask("GET", path).status == status, path
    assert flower.ask("POST", LOG, VIEWER).status == HTTPStatus.FORBIDDEN


@pytest.mark.row("UI-27")
def test_an_odd_value_in_an_address_is_refused_by_its_name(flower: Flower, shown: ShownFleet) -> None:
    shown.jobs.add("a")
    plan = shown.jobs.planned("deploy-1")
    write_lines(shown.jobs.ledger, "deploy-1", plan, "printed")
    for odd in (*ODD, f"{2**64}-0:1", f"0-{2**64}:1", f"1-1:{10**15}"):
        for name, path in {
            "after": f"{LOG}?of={plan}&after={odd}",
            "attempt": f"{LOG}?attempt={odd}",
            "of": f"{LOG}?of={odd}",
            "from": f"/fleet/changes?from={odd}",
        }.items():
            reply = flower.ask("GET", path)
            assert reply.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND), path
            assert odd == "%FF" or name in reply.body.decode(), path  # Tornado names it in the log alone
        assert flower.ask("GET", f"/fleet/search?q={odd}").status in (HTTPStatus.OK, HTTPStatus.BAD_REQUEST)
        assert flower.ask("GET", "/fleet/changes", **{"Last-Event-ID": odd}).status == HTTPStatus.BAD_REQUEST


@pytest.mark.row("UI-27")
def test_an_odd_part_of_a_path_names_nothing(flower: Flower) -> None:
    refusals = (HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST)
    for odd in ODD:
        pairs = [f"{kind}/{names}" for kind in TWO_NAMES for names in (f"{odd}/b", f"b/{odd}")]
        jobs = [f"{odd}/b/c", f"b/{odd}/c", f"b/c/-{odd}"]
        objects = [f"portpool/-{odd}", *pairs, *(f"job/{names}" for names in jobs)]
        paths = [f"/fleet/data/{name}" for name in objects] + [f"/fleet/log/{names}" for names in jobs]
        for path in (*paths, f"/fleet/static/{odd}"):
            assert flower.ask("GET", path).status in refusals, path
        for path in (f"/fleet/{name}" for name in objects):
            assert flower.ask("GET", path).status in (HTTPStatus.OK, *refusals), path  # the page asks for its document
        for path in (f"/fleet/{verb}/{names}" for verb in ("confirm", "cancel") for names in jobs):
            assert flower.ask("POST", path, body={"job": odd}, **SAME_ORIGIN).status in refusals, path


@pytest.mark.row("UI-27")
def test_a_password_that_is_not_ascii_is_a_wrong_one(flower: Flower) -> None:
    for secret in ("ops:P\u00e4sswort", "ops:\u0663", "ops", ""):
        header = "Basic " + base64.b64encode(secret.encode()).decode()
        for path in ("/fleet", "/workers"):
            reply = flower.ask("GET", path, user=None, Authorization=header)
            assert reply.status == HTTPStatus.UNAUTHORIZED, secret
            assert "www-authenticate" in reply.headers
