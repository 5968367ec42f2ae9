"""The clients of a storm of jobs: they submit, submit again until they have seen the end, confirm and cancel."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from berthmaster.client import Fleet, Request
from tests.support.jobs.slot_books import SlotBooks

AGAIN = 6.0
KEYS = 20


@dataclass
class Wish:
    """`asked`: when it was last submitted, or said otherwise what shall become of it."""

    request: Request
    cancel: bool = False
    asked: float = 0.0


def wishes(pool: str, count: int, chance: Random, longest: float) -> list[Wish]:
    """Mostly plain plans; also applies, plans to confirm, jobs that must not run again, and some that are cancelled."""
    made = []
    for n in range(count):
        kind = chance.random()
        told: dict[str, Any] = {
            "kwargs": {"seconds": round(chance.uniform(0.02, longest), 2)},
            "priority": chance.randrange(10),
        }
        if kind < 0.1:
            told |= {"phases": ("apply",)}
        elif kind < 0.25:
            told |= {"phases": ("plan", "apply"), "serial_key": f"key-{chance.randrange(KEYS)}"}
        elif kind < 0.3:
            told |= {"when_lost": "fail"}
        made.append(Wish(Request(f"job-{n}", pool, "storm", **told), cancel=chance.random() < 0.05))
    return made


class JobCrowd:
    """`seen`: outcomes that the clients know; from then on they say no more about these jobs."""

    def __init__(self, fleet: Fleet, wanted: list[Wish], chance: Random) -> None:
        self.fleet, self.chance = fleet, chance
        self.wanted = {wish.request.id: wish for wish in wanted}
        self.fresh = [wish.request.id for wish in wanted]
        self.seen: dict[str, str] = {}
        self.again = 0

    @property
    def over(self) -> bool:
        return not self.fresh and len(self.seen) == len(self.wanted)

    def submit(self, count: int) -> None:
        """So many new jobs; some are submitted twice at once."""
        for job in self.fresh[:count]:
            for _ in range(1 + (self.chance.random() < 0.05)):
                self._ask(self.wanted[job])
        del self.fresh[:count]

    def look(self, books: SlotBooks) -> None:
        """What clients see, and what they do about it."""
        fresh = set(self.fresh)
        for job, wish in self.wanted.items():
            record = books.jobs.get(job)
            if job in self.seen and record and record["s"] == "reserved":
                self._cancel(wish)  # it was cancelled, and Redis was lost before its runner heard of it
            elif job not in self.seen and job not in fresh:
                self._follow(wish, record)

    def _follow(self, wish: Wish, record: Any) -> None:
        if record and record["s"] == "done":
            self.seen[wish.request.id] = record["o"]
        elif time.monotonic() - wish.asked < AGAIN * self.chance.uniform(0.3, 1):
            return
        elif not record or record["s"] == "unknown":
            self.again += 1
            self._ask(wish)
        elif wish.cancel:
            self._cancel(wish)
        elif record["s"] == "reserved":
            self._said(wish)
            self.fleet.confirm(wish.request.pool, wish.request.id, record["l"])

    def _cancel(self, wish: Wish) -> None:
        self._said(wish)
        self.fleet.cancel(wish.request.pool, wish.request.id)

    def _ask(self, wish: Wish) -> None:
        self._said(wish)
        self.fleet.submit(wish.request)

    @staticmethod
    def _said(wish: Wish) -> None:
        wish.asked = time.monotonic()

    def outcomes(self) -> Counter[str]:
        return Counter(self.seen.values())
