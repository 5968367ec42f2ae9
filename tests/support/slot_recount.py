"""The invariants of a slot ledger, recounted from what is stored: '' for a sound one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.support.slot_world import SlotWorld

HOLDING = ("placed", "running", "reserved", "confirmed", "cancelling")


def faults(world: SlotWorld) -> list[str]:
    pods, jobs = world.stored("pods"), world.stored("jobs")
    return [
        *_slots(pods, jobs),
        *_counts(world, pods),
        *_index(world, pods),
        *_keys(world, jobs),
        *_processes(world),
        *_effects(world),
    ]


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


def _counts(world: SlotWorld, pods: dict[str, Any]) -> Iterator[str]:
    told = Counter(slot["s"] for pod in pods.values() for slot in pod["s"] if slot)
    for state, name in (("running", "used"), ("reserved", "reserved")):
        if world.count(name) != told[state]:
            yield f"SL-31: {name} is {world.count(name)}, recounted {told[state]}"


def _index(world: SlotWorld, pods: dict[str, Any]) -> Iterator[str]:
    for layout in {name for pod in pods.values() for name in pod["l"]}:
        stored: Any = world.redis.zrange(f"{world.ledger.prefix}free:{layout}", 0, -1, withscores=True)
        wanted = {
            uid: -sum(bool(slot) for slot in pod["s"])
            for uid, pod in pods.items()
            if pod["v"] == "open" and any(c == layout and not s for c, s in zip(pod["l"], pod["s"], strict=True))
        }
        if {uid.decode(): int(score) for uid, score in stored} != wanted:
            yield f"index of {layout} is {stored}, recounted {wanted}"


def _keys(world: SlotWorld, jobs: dict[str, Any]) -> Iterator[str]:
    keyed: Any = world.redis.hgetall(f"{world.ledger.prefix}keyed")
    for key, holder in keyed.items():
        job = jobs.get(holder.decode())
        if not job or job["s"] not in ("placed", "running", "cancelling") or job["k"] != key.decode():
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
