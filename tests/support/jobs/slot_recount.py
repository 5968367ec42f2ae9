"""The invariants of a slot ledger, recounted from what is stored: '' for a sound one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.support.jobs.slot_books import SlotBooks, read
from tests.support.jobs.slot_world import SlotWorld
from workers.stores.slots.view import view

HOLDING = ("placed", "running", "reserved", "confirmed", "cancelling")


def faults(world: SlotWorld) -> list[str]:
    books = read(world.redis, world.ledger.prefix)
    return [*book_faults(books), *_counts(world, books), *_processes(world), *_effects(world)]


def book_faults(books: SlotBooks) -> list[str]:
    """Of the ledger alone."""
    return [*_slots(books.pods, books.jobs), *_on_pods(books), *_index(books), *_keys(books), *_limits(books)]


def _slots(pods: dict[str, Any], jobs: dict[str, Any]) -> Iterator[str]:
    places = {job: (j["u"], j["x"]) for job, j in jobs.items() if j["s"] in HOLDING}
    found: dict[str, tuple[str, int]] = {}
    for uid, pod in pods.items():
        for x, slot in enumerate(pod["s"], 1):
            if not slot:
                continue
            job = jobs.get(slot["j"])
            if slot["j"] in found:
                yield f"I3: {slot['j']} has two slots"
            found[slot["j"]] = (uid, x)
            if not job or job["a"] != slot["a"] or job["s"] not in HOLDING:
                yield f"slot {x} of {uid} says {slot}, its job says {job}"
            elif (slot["s"] == "reserved") != (job["s"] in ("reserved", "confirmed")):
                yield f"slot {x} of {uid} is {slot['s']}, its job {job['s']}"
    if found != places:
        yield f"slots {found} are not what jobs say {places}"


def _on_pods(books: SlotBooks) -> Iterator[str]:
    places = {job: j["u"] for job, j in books.jobs.items() if j["s"] in HOLDING}
    found = {job: uid for job, uid in books.on_pods.items() if job in books.jobs}
    if found != places:
        yield f"jobs are on {found}, their records say {places}"


def _limits(books: SlotBooks) -> Iterator[str]:
    """A job that runs has the deadline of its attempt; others may wait for their first start, or have none."""
    running = {job for job, j in books.jobs.items() if j["s"] == "running" and "g" in j}
    waiting = {job for job, j in books.jobs.items() if j["s"] in ("waiting", "placed") and "w" in j}
    if not running <= books.limits <= running | waiting:
        yield f"limits count for {set(books.limits)}, of which {running} run and {waiting} wait"
    if books.stopping != (asked := {job for job, j in books.jobs.items() if j["s"] == "cancelling"}):
        yield f"runners are asked to stop {set(books.stopping)}, records say {asked}"


def _counts(world: SlotWorld, books: SlotBooks) -> Iterator[str]:
    """What scaling, status and people are told."""
    seen = view(world.ledger)
    for name, count in (("used", seen.used), ("reserved", seen.reserved)):
        if books.count(name) != count:
            yield f"SL-31: {name} is {count}, recounted {books.count(name)}"


def _index(books: SlotBooks) -> Iterator[str]:
    for layout in {name for pod in books.pods.values() for name in pod["l"]} | books.free.keys():
        stored = books.free.get(layout, {})
        wanted = {
            uid: -sum(bool(slot) for slot in pod["s"])
            for uid, pod in books.pods.items()
            if pod["v"] == "open" and any(c == layout and not s for c, s in zip(pod["l"], pod["s"], strict=True))
        }
        if stored != wanted:
            yield f"index of {layout} is {stored}, recounted {wanted}"
    offered, facts = books.offered
    if closed := {uid for uid in offered if books.verified and books.pods.get(uid, {}).get("v") != "open"}:
        yield f"claims are offered {closed}, which are not open"
    if offered != facts:
        yield f"claims are offered {offered}, and told of {facts}"


def _keys(books: SlotBooks) -> Iterator[str]:
    for key, holder in books.keyed.items():
        job = books.jobs.get(holder)
        if not job or job["s"] not in ("placed", "running", "cancelling") or job["k"] != key:
            yield f"serial key {key} is held by {holder}, which is {job}"


def _processes(world: SlotWorld) -> Iterator[str]:
    running = [
        (job, phase, uid, slot) for uid, runner in world.runners.items() for job, phase, slot in runner.running.values()
    ]
    for job, count in Counter(job for job, *_ in running).items():
        if count > 1:
            yield f"I3: {job} runs {count} times"
    for place, count in Counter((uid, slot) for _, _, uid, slot in running).items():
        if count > 1:
            yield f"I3: slot {place} has {count} processes"


def _effects(world: SlotWorld) -> Iterator[str]:
    for what, count in world.effects.items():
        if count > 1 and what not in world.excused and not what.endswith(" plan"):
            yield f"once: {what} took effect {count} times"


def keys_of_running(world: SlotWorld) -> Counter[str]:
    """Serial keys of the exclusive phases that run."""
    return Counter(
        runner.jobs[job].serial_key
        for runner in world.runners.values()
        for job, phase, _ in runner.running.values()
        if phase == "apply" and runner.jobs[job].serial_key
    )
