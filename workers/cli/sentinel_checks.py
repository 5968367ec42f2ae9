"""What `doctor` checks where Redis is behind Sentinel: who answers, whom they name, and what a failover would cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from berthmaster.redis.address import SentinelAddress
from workers.cli.check import Check
from workers.stores.sentinel_facts import Replication, SentinelFacts

ADVICE = "the master's name is in BERTHMASTER_REDIS__URL, redis+sentinel://HOST:26379,HOST:26379/MASTER/0"


def judge_sentinels(told: Sequence[SentinelFacts], address: SentinelAddress) -> Iterator[Check]:
    answering = [each for each in told if not each.error]
    yield judge_answers(told, answering)
    if answering:
        yield judge_names(answering, address.master)
    if knowing := [each for each in answering if each.master]:
        yield judge_quorum(knowing)


def judge_answers(told: Sequence[SentinelFacts], answering: Sequence[SentinelFacts]) -> Check:
    silent = "; ".join(f"{each.at}: {each.error}" for each in told if each.error)
    found = f"{len(answering)} of {len(told)}" + (f"; {silent}" if silent else "")
    if len(told) == 1 and answering:
        found += ": name the others as well, or its end is the end of every look for the master"
    return Check("Sentinels answer", bool(answering), found, warns=bool(silent) or len(told) == 1)


def judge_names(answering: Sequence[SentinelFacts], name: str) -> Check:
    title, places = "Sentinels know the master", {each.master for each in answering if each.master}
    if not places:
        others = sorted({other for each in answering for other in each.masters})
        return Check(title, ok=False, found=f"none knows {name}, only {', '.join(others) or 'none at all'}: {ADVICE}")
    if len(places) > 1:
        found = f"{' and '.join(sorted(places))}: in a failover they differ for seconds; if it stays, reset those"
        return Check(title, ok=False, found=found)
    ignorant = [each.at for each in answering if not each.master]
    found = f"{name} is {places.pop()}" + (f"; not known to {', '.join(ignorant)}" if ignorant else "")
    return Check(title, ok=True, found=found, warns=bool(ignorant))


def judge_quorum(knowing: Sequence[SentinelFacts]) -> Check:
    lacking = next((each for each in knowing if each.quorum), None)
    found = f"{lacking.at}: {lacking.quorum}: start the others, or lower the quorum" if lacking else "yes"
    return Check("Sentinels could name another master", lacking is None, found)


def judge_replication(told: Replication, rest: timedelta) -> list[Check]:
    """`rest`: after how long workers go on with another master."""
    replicas = f"{told.replicas}" if told.replicas else "none: there is nothing to fail over to"
    alone = Check("Master takes nothing alone", bool(told.needed), "min-replicas-to-write is set")
    if not told.needed:
        found = "after a failover it would go on taking writes that are lost: set min-replicas-to-write 1"
        alone = alone._replace(found=found)
    elif told.lag is not None and told.lag >= rest.total_seconds():
        found = f"cut off, it does so for {told.lag} s, and workers go on with another after {rest.total_seconds():g} s"
        way_out = "lower min-replicas-max-lag or raise BERTHMASTER_REDIS__FAILOVER_WAIT"
        alone = alone._replace(found=f"{found}: {way_out}", warns=True)
    elif told.needed < (half := (told.replicas + 1) // 2):
        found = f"cut off with {told.needed} of its {told.replicas} replicas, it goes on taking writes that are lost"
        alone = alone._replace(found=f"{found}: set min-replicas-to-write {half}", warns=True)
    return [Check("Master has replicas", ok=True, found=replicas, warns=not told.replicas), alone]
