"""The pages in a real browser: people look at the fleet there, and decide."""

from __future__ import annotations

import re
import signal
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Position, expect
from redis import Redis

from berthmaster.jobs.job import JobState
from compose.sandbox.redis_server import RedisServer
from tests.fixtures.browser import OpenPage
from tests.support.jobs.job_lines import write_lines
from tests.support.jobs.jobs_desk import JobsDesk
from tests.support.servers.flower import PASSWORD, USER, VIEWER, Flower
from tests.support.servers.shown_fleet import ShownFleet

LIVE = '#live[data-state="live"]'
LOST = '#live[data-state="lost"]'
JOB = "/fleet/job/ci/runners/deploy-1"
PHONE = {"viewport": {"width": 360, "height": 740}}
LOOKS: dict[str, dict[str, Any]] = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": PHONE}
PATHS = (
    "/fleet",
    JOB,
    "/fleet/portpool/arena",
    "/fleet/podpool/ci/runners",
    "/fleet/pod/ci/pod-a",
    "/fleet/search?q=none",
)


@pytest.fixture(autouse=True)
def patient() -> None:
    expect.set_options(timeout=60_000)


@pytest.fixture
def filled(shown: ShownFleet) -> ShownFleet:
    """With ports, slots, a plan that waits, and events."""
    shown.bind("games/a", 3)
    shown.jobs.add("a")
    shown.decide("jobs wait", 1, 1)
    shown.decide("more jobs wait", 2, 1)
    shown.decide("enough slots idle", 1)
    plan = shown.jobs.planned("deploy-1")
    write_lines(shown.jobs.ledger, "deploy-1", plan, "changes to make", first=4)
    shown.event("allocation.failed", "pod/games/z", "no free port")
    return shown


def label(page: Page, row: str) -> Any:
    """The picture of a row, whose label says its numbers."""
    return page.locator(f'[data-row="{row}"] canvas')


@pytest.mark.row("UI-03", "UI-04")
def test_a_change_is_on_the_screen_without_reloading(open_page: OpenPage, filled: ShownFleet) -> None:
    page = open_page("/")
    page.wait_for_selector(LIVE)
    expect(page).to_have_url("http://127.0.0.1:{}/fleet".format(page.url.split(":")[2].split("/")[0]))
    expect(label(page, "lb/arena/arena-lb-0")).to_have_attribute("aria-label", "arena-lb-0: 17 free, 3 bound")
    expect(label(page, "podpool/ci/runners")).to_have_attribute("aria-label", "Slots of ci/runners: 1 reserved, 2 idle")
    filled.bind("games/b", 2)
    filled.jobs.kill("a")
    filled.claim("games/two", "Pending")
    expect(label(page, "lb/arena/arena-lb-0")).to_have_attribute("aria-label", "arena-lb-0: 15 free, 5 bound")
    expect(label(page, "podpool/ci/runners")).to_have_attribute("aria-label", "Slots of ci/runners: none")
    expect(page.locator("#claims")).to_contain_text("Pending")
    filled.port_pool("lobby", 1)
    expect(page.locator('[data-row="portpool/lobby"]')).to_contain_text("0 of 20 ports in use")
    page.get_by_role("link", name="lobby-lb-0").click()
    expect(page.locator("h1")).to_have_text("Load balancer lobby-lb-0")


@pytest.mark.row("UI-04")
def test_who_does_not_see_the_cells_has_a_table(open_page: OpenPage, filled: ShownFleet) -> None:
    page = open_page("/fleet")
    page.get_by_text("Table of ci/runners").focus()
    page.keyboard.press("Enter")
    table = page.get_by_role("region", name="Pods of ci/runners")
    expect(table).to_contain_text("1 reserved, 2 idle")
    table.get_by_role("link", name="pod-a").focus()
    filled.jobs.add("b")
    expect(table).to_contain_text("pod-b")
    expect(table.get_by_role("link", name="pod-a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Pod ci/pod-a")


@pytest.mark.row("UI-09")
def test_a_chart_shows_the_size_with_the_decisions_on_it(open_page: OpenPage, filled: ShownFleet) -> None:
    page = open_page("/fleet/podpool/ci/runners")
    chart = page.get_by_role("img", name="Size over the last day")
    expect(chart.locator("circle title").last).to_contain_text("+1: more jobs wait")
    expect(chart.locator("path")).to_have_count(4)


@pytest.mark.row("UI-16")
@pytest.mark.parametrize(
    ("path", "name", "words", "title"),
    [
        ("portpool/arena", "arena-lb-0: 17 free, 3 bound", "30000: games/a, bound since 20", "Pod games/a"),
        ("lb/arena/arena-lb-0", "arena-lb-0: 17 free, 3 bound", "30000: games/a, bound since 20", "Pod games/a"),
        ("podpool/ci/runners", "Slots of ci/runners: 1 reserved, 2 idle", "slot 1 of pod-a: deploy-1", "Job deploy-1"),
    ],
)
def test_a_cell_says_who_holds_it_and_leads_there(
    path: str, name: str, words: str, title: str, open_page: OpenPage, filled: ShownFleet
) -> None:
    page = open_page(f"/fleet/{path}")
    cells, first = page.get_by_role("img", name=name), Position(x=5, y=5)
    cells.hover(position=first)
    expect(cells).to_have_attribute("title", re.compile(words))
    cells.click(position=first)
    expect(page.locator("h1")).to_have_text(title)


@pytest.mark.row("UI-03")
def test_the_page_says_when_it_is_not_live(
    open_page: OpenPage, filled: ShownFleet, redis_server: RedisServer, flower: Flower
) -> None:
    page = open_page("/fleet", outage=True)
    page.wait_for_selector(LIVE)
    redis_server.kill()
    try:
        expect(page.locator("#problems")).to_contain_text("does Redis run?")
        expect(label(page, "lb/arena/arena-lb-0")).to_have_attribute("aria-label", "arena-lb-0: 17 free, 3 bound")
    finally:
        redis_server.start()
    expect(page.locator("#problems")).to_be_empty()
    expect(page.locator("#ports")).not_to_contain_text("arena")  # this Redis keeps nothing
    page.wait_for_selector(LIVE)
    flower.process.send_signal(signal.SIGSTOP)
    try:
        page.wait_for_selector(LOST)
    finally:
        flower.process.send_signal(signal.SIGCONT)
    page.wait_for_selector(LIVE)


@pytest.mark.row("UI-28")
def test_an_address_with_user_and_password_shows_the_fleet_and_a_log(
    browser: Browser, flower: Flower, filled: ShownFleet
) -> None:
    """As a bookmark has it. A browser refuses to fetch what inherits the password from the address of its page."""
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"http://{USER}:{PASSWORD}@127.0.0.1:{flower.port}/fleet")
    page.wait_for_selector(LIVE)
    expect(label(page, "lb/arena/arena-lb-0")).to_have_attribute("aria-label", "arena-lb-0: 17 free, 3 bound")
    filled.bind("games/b", 2)
    expect(label(page, "lb/arena/arena-lb-0")).to_have_attribute("aria-label", "arena-lb-0: 15 free, 5 bound")
    page.goto(f"http://{USER}:{PASSWORD}@127.0.0.1:{flower.port}{JOB}")
    expect(page.get_by_role("log", name="Log")).to_contain_text("changes to make")
    with JobsDesk(filled.jobs):
        page.get_by_role("button", name="Confirm").click()
        expect(page.locator("dl")).to_contain_text("succeeded")
    page.close()


@pytest.mark.row("UI-29")
def test_a_page_of_nothing_says_so_and_is_no_outage(open_page: OpenPage, filled: ShownFleet) -> None:
    page = open_page("/fleet/pod/ci/nobody", outage=True)  # a 404 is an error in the console
    expect(page.locator("#problems")).to_have_text("There is no pod ci/nobody, or not any more.")
    page.wait_for_selector(LIVE)
    page = open_page("/fleet/job/ci/runners/deploy-7", outage=True)
    expect(page.locator("#problems")).to_have_text("There is no job ci/runners/deploy-7, or not any more.")
    filled.jobs.submit("deploy-7", "plan")
    expect(page.locator("dl")).to_contain_text("in slot 2 of pod pod-a")
    expect(page.locator("#problems")).to_be_empty()


@pytest.mark.row("UI-06")
def test_a_person_reads_the_plan_and_confirms_it(open_page: OpenPage, filled: ShownFleet, redis: Redis) -> None:
    page = open_page(JOB)
    with JobsDesk(filled.jobs):
        page.get_by_role("button", name="Confirm").click()
        expect(page.locator("dl")).to_contain_text("succeeded")
    assert filled.jobs.effects["deploy-1 apply"] == 1
    assert filled.jobs.record("deploy-1").confirmed_by == USER
    expect(page.locator("dl")).to_contain_text(f"confirmed by{USER}")
    expect(page.get_by_role("button", name="Confirm")).to_have_count(0)


@pytest.mark.row("UI-26")
def test_the_lines_of_a_job_come_while_somebody_looks_and_the_page_keeps_the_last(
    open_page: OpenPage, filled: ShownFleet
) -> None:
    filled.jobs.add("b")
    filled.jobs.submit("deploy-2", "plan", "apply")
    filled.jobs.deliver_all()
    plan = filled.jobs.only("b")
    page = open_page("/fleet/job/ci/runners/deploy-2", VIEWER)
    expect(page.locator("#log-note")).to_have_text("Nothing was printed. ")
    write_lines(filled.jobs.ledger, "deploy-2", plan, "one", "<b>two</b>\x1b[2J")
    log = page.get_by_role("log", name="Log")
    expect(log.locator("div")).to_have_text(["one", "<b>two</b>\\u001b[2J"])
    for number in range(3, 2503, 100):
        write_lines(filled.jobs.ledger, "deploy-2", plan, *map(str, range(number, number + 100)), first=number)
    expect(log.locator("div").last).to_have_text("2502")
    expect(log.locator("div")).to_have_count(2000)
    expect(page.locator("#log-note")).to_have_text("The last 2000 lines. ")
    write_lines(filled.jobs.ledger, "deploy-2", plan, "end", first=2503, ended=True)
    filled.jobs.ended("b", plan)
    expect(page.locator("#log-note")).to_contain_text("The attempt has ended.")
    filled.jobs.confirm("deploy-2", plan)
    filled.jobs.deliver_all()
    write_lines(filled.jobs.ledger, "deploy-2", filled.jobs.only("b"), "applied", phase="apply")
    expect(log.locator("div")).to_have_text(["applied"])
    page.get_by_role("link", name=f"plan {plan}").click()
    expect(page.get_by_role("heading", name=f"Log of plan, attempt {plan}")).to_be_visible()
    expect(log.locator("div").last).to_have_text("end")


@pytest.mark.row("UI-06")
def test_a_person_cancels_a_job_by_the_keyboard(open_page: OpenPage, filled: ShownFleet) -> None:
    page = open_page(JOB)
    page.on("dialog", lambda dialog: dialog.accept())
    with JobsDesk(filled.jobs):
        page.get_by_role("button", name="Cancel").focus()
        page.keyboard.press("Enter")
        expect(page.locator("dl")).to_contain_text("cancelled")
    assert filled.jobs.record("deploy-1").state is JobState.DONE


@pytest.mark.row("UI-05")
def test_who_may_only_look_sees_no_buttons(open_page: OpenPage, filled: ShownFleet) -> None:
    page = open_page(JOB, VIEWER)
    expect(page.locator("dl")).to_contain_text("reserved")
    expect(page.locator("#document button")).to_have_count(0)


@pytest.mark.row("UI-07")
def test_the_search_leads_to_what_it_finds(open_page: OpenPage, filled: ShownFleet) -> None:
    page = open_page("/fleet")
    for asked, title in {
        "deploy-1": "Job deploy-1",
        "arena-lb-0.example:30001": "Pod games/a",
        "arena-lb-1": "Load balancer arena-lb-1",
        "games/one": "Claim games/one",
        "pod-a": "Pod ci/pod-a",
    }.items():
        page.get_by_role("searchbox").fill(asked)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text(title)
    page.get_by_role("searchbox").fill("<b>nothing</b>")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Search: <b>nothing</b>")


@pytest.mark.row("UI-08")
@pytest.mark.parametrize("look", LOOKS)
def test_names_roles_and_contrasts_are_good_and_nothing_is_wider_than_the_screen(
    look: str, open_page: OpenPage, filled: ShownFleet
) -> None:
    for path in PATHS:
        page = open_page(path, **LOOKS[look])
        expect(page.locator("h1")).not_to_be_empty()
        if "search" not in path:
            page.wait_for_selector(LIVE)
        violations = Axe().run(page).response["violations"]
        assert [(fault["id"], [node["html"] for node in fault["nodes"]][:3]) for fault in violations] == [], path
        width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert width <= 0, path
