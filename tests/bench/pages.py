"""What the fleet's pages cost at their promised size, while 300 things a second change.

That is 100 load balancers of 50 ports, 4,400 pods of three slots and 5,000 claims. Real are Flower, Redis, the scripts
of the ledgers and the browser; nothing runs but what the bench writes. CPU time is that of Flower's process alone, so
that what else the machine does changes a share little. Without Chromium the figures of the screen are left out.
"""

from __future__ import annotations

import base64
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

from playwright.sync_api import Browser, Page, sync_playwright
from redis import Redis

from berthmaster.jobs.job import Placed
from berthmaster.jobs.placement import ORDER
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from tests.bench.counting import cpu_time
from tests.bench.measuring import Figure, Report, Tell
from tests.fixtures.browser import PATIENCE, chromium
from tests.support.jobs.slot_world import SlotWorld
from tests.support.ports.live_pool import RANDOM
from tests.support.servers.flower import PASSWORD, USER, Flower, running
from tests.support.servers.shown_fleet import POOL, ShownFleet

T = TypeVar("T")
NAME: Final = "pages"
LBS, PORTS_OF_ONE, PODS, SLOTS, CLAIMS, CHANGES = 100, 50, 4400, 3, 5000, 300
VIEWERS: Final = 10
SECONDS: Final = 30.0
"""Of one measurement."""
BUSY: Final = 3000
"""Jobs that run, and ports in use."""


class Fleet:
    """The fleet in Redis, and what changes in it. `part`: one over how much smaller it is."""

    def __init__(self, redis: Redis, part: int, tell: Tell) -> None:
        self.redis, self.shown = redis, ShownFleet(redis)
        emptiest_first = replace(ORDER, busy_slot=-ORDER.busy_slot)
        self.shown.jobs = SlotWorld(redis, POOL, emptiest_first)
        self.lbs, self.pods, self.claims = LBS // part, PODS // part, CLAIMS // part
        self.pool = self.shown.port_pool("lobby", self.lbs, PORTS_OF_ONE)
        self.random = Random(1)
        self.holders, self.runs, self.numbers = list[str](), list[tuple[str, str]](), count()
        for _ in range(BUSY // part):
            self.bind()
        tell(f"{self.lbs} load balancers, {len(self.holders)} ports in use")
        for number in range(self.pods):
            self.shown.jobs.add(f"u{number}")
        for _ in range(BUSY // part):
            self.start()
        tell(f"{self.pods} pods of {SLOTS} slots, {len(self.runs)} jobs")
        for number in range(self.claims):
            self.shown.claim(f"games/claim-{number}", "Bound", podName=f"p{number}", podIPs=["10.0.0.1"])
        tell(f"{self.claims} claims")

    # ---- changes

    def some(self, things: list[T]) -> T:
        """Take any of them: what comes in its place is elsewhere, so that both change the picture."""
        return things.pop(self.random.randrange(len(things)))

    def bind(self) -> None:
        owner = f"games/p{next(self.numbers)}"
        self.pool.allocate(owner, order=RANDOM)  # in order, a port that was just released would come back
        self.holders.append(owner)

    def release(self) -> None:
        self.pool.release(self.some(self.holders))

    def start(self) -> None:
        jobs, name = self.shown.jobs, f"job-{next(self.numbers)}"
        jobs.submit(name)
        (placed,) = jobs.wire
        jobs.deliver_all()
        self.runs.append(self.run_of(placed))

    @staticmethod
    def run_of(placed: Placed) -> tuple[str, str]:
        return placed.uid, placed.attempt

    def end(self) -> None:
        jobs, (uid, attempt) = self.shown.jobs, self.some(self.runs)
        jobs.end(uid, attempt)
        jobs.tell(uid, attempt)

    def claim(self, namespace: str) -> None:
        """Something that can be seen by its name."""
        self.shown.claim(f"{namespace}/one", "Bound")


class Churn:
    """Changes `CHANGES` things a second in a thread: ports and slots, in turn."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.done, self.over = fleet, 0, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Churn:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def _run(self) -> None:
        fleet, began = self.fleet, time.monotonic()
        acts: tuple[Callable[[], None], ...] = (fleet.release, fleet.end, fleet.bind, fleet.start)
        while not self.over.is_set():
            acts[self.done % len(acts)]()
            self.done += 1
            time.sleep(max(0.0, began + self.done / CHANGES - time.monotonic()))


class Viewer:
    """Reads the board and its changes as the page does, and knows how much that was."""

    def __init__(self, flower: Flower) -> None:
        self.flower, self.read, self.text = flower, 0, b""
        self.whole = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {secret}"}
        first = self.flower.ask("GET", "/fleet/board")
        self.whole = len(first.body)
        board = self.flower.board()
        position = f"{board['boot']}:{board['seq']}"
        connection = HTTPConnection("127.0.0.1", self.flower.port, timeout=30)
        connection.request("GET", f"/fleet/changes?from={position}", headers=headers)
        answer = connection.getresponse()
        while not self.over.is_set():
            line = answer.readline()
            self.read += len(line)
            if line.startswith(b"data"):
                self.text = line
        connection.close()


@contextmanager
def viewers(flower: Flower, number: int) -> Iterator[list[Viewer]]:
    """As many who look at the same time."""
    all_of_them = [Viewer(flower) for _ in range(number)]
    try:
        yield all_of_them
    finally:
        for viewer in all_of_them:
            viewer.over.set()
        for viewer in all_of_them:
            viewer.thread.join()


def run(quick: bool, tell: Tell) -> Report:
    seconds = SECONDS / 3 if quick else SECONDS
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = RedisServer(Path(folder), appendonly=False).start()
        stack.callback(server.kill)
        redis = connect(server.url)
        stack.callback(redis.close)
        fleet = Fleet(redis, 10 if quick else 1, tell)
        flower = stack.enter_context(running(server.url, Path(folder) / "flower.log"))
        churn = stack.enter_context(Churn(fleet))
        shares = {0: share(flower, 0, seconds, tell)[0]}
        before, began = churn.done, time.monotonic()
        sizes = dict[int, tuple[float, int]]()
        for number in (1, VIEWERS):
            shares[number], *rest = share(flower, number, seconds, tell)
            sizes[number] = (rest[0], int(rest[1]))
        rate = (churn.done - before) / (time.monotonic() - began)
        seen = screen(flower, fleet, 3 if quick else 9, tell) if chromium() else {}
    details = {"shares": by_text(shares), "sizes": by_text(sizes), "screen": seen}
    return Report(NAME, tuple(figures(shares, sizes, seen, rate)), details)


def by_text(numbers: dict[int, Any]) -> dict[str, Any]:
    """With the number of viewers as text, as JSON needs it."""
    return {str(number): value for number, value in numbers.items()}


def share(flower: Flower, number: int, seconds: float, tell: Tell) -> tuple[float, float, float]:
    """Percent of a core that Flower takes, bytes a second and viewer, and bytes of the whole board."""
    with viewers(flower, number) as looking:
        time.sleep(5)
        before, read, began = cpu_time(flower.process.pid), sum(v.read for v in looking), time.monotonic()
        time.sleep(seconds)
        used, length = cpu_time(flower.process.pid) - before, time.monotonic() - began
        bytes_each = (sum(v.read for v in looking) - read) / max(number, 1) / length
        tell(f"{number} viewers: {100 * used / length:.1f} % of a core, {bytes_each / 1000:.1f} kB/s each")
        return 100 * used / length, bytes_each, max((v.whole for v in looking), default=0)


def screen(flower: Flower, fleet: Fleet, times: int, tell: Tell) -> dict[str, list[float]]:
    """Seconds until the cells are painted, and until a change is on the screen, in a real browser."""
    seen: dict[str, list[float]] = {"paint": [], "change": []}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for turn in range(times):
            page = opened(browser)
            page.goto(f"http://127.0.0.1:{flower.port}/fleet", wait_until="commit")
            page.wait_for_selector('[data-row="podpool/ci/runners"] canvas[aria-label]')
            seen["paint"].append(page.evaluate("performance.now()") / 1000)
            seen["change"].append(until_seen(page, fleet, f"seen-{turn}"))
            tell(f"turn {turn}: painted after {seen['paint'][-1]:.2f} s, a change after {seen['change'][-1]:.2f} s")
            page.context.close()
        browser.close()
    return seen


def opened(browser: Browser) -> Page:
    credentials: Any = {"username": USER, "password": PASSWORD}
    page = browser.new_context(http_credentials=credentials).new_page()
    page.set_default_timeout(PATIENCE)
    return page


def until_seen(page: Page, fleet: Fleet, namespace: str) -> float:
    began = time.monotonic()
    fleet.claim(namespace)
    page.get_by_role("cell", name=namespace, exact=True).wait_for()
    return time.monotonic() - began


def figures(
    shares: dict[int, float], sizes: dict[int, tuple[float, int]], seen: dict[str, list[float]], rate: float
) -> Iterator[Figure]:
    yield Figure("changes a second", rate)
    yield Figure("CPU of Flower, nobody looks", shares[0], "% of a core")
    yield Figure("CPU of Flower, one viewer", shares[1], "% of a core")
    yield Figure(f"CPU of Flower, {VIEWERS} viewers", shares[VIEWERS], "% of a core", at_most=10)
    yield Figure("stream of a viewer", sizes[VIEWERS][0] / 1000, "kB/s")
    yield Figure("the whole board, compressed", sizes[VIEWERS][1] / 1000, "kB")
    if seen:
        yield Figure("first paint, median", statistics.median(seen["paint"]), "s", at_most=1)
        yield Figure("first paint, slowest", max(seen["paint"]), "s")
        yield Figure("change on the screen, median", statistics.median(seen["change"]), "s")
        yield Figure("change on the screen, slowest", max(seen["change"]), "s", at_most=2)
