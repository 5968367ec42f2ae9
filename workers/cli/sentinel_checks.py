"""The checks of `doctor` for Redis behind Sentinel: who answers, which master they name, what a failover costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from berthmaster.redis.address import SentinelAddress
from workers.cli.check import Check
from workers.stores.sentinel_facts import Replication, SentinelFacts

ADVICE = "the master's name is in BERTHMASTER_REDIS__URL, redis+sentinel://HOST:26379,HOST:26379/MASTER/0"


def judge_sentinels(sentinels: Sequence[SentinelFacts], address: SentinelAddress) -> Iterator[Check]:
    """Check the Sentinels of the address."""
    answering = [sentinel for sentinel in sentinels if not sentinel.error]
    yield judge_answers(sentinels, answering)
    if answering:
        yield judge_names(answering, address.master)
    if informed := [sentinel for sentinel in answering if sentinel.master]:
        yield judge_quorum(informed)


def judge_answers(sentinels: Sequence[SentinelFacts], answering: Sequence[SentinelFacts]) -> Check:
    """Check that Sentinels answer. Warns if only one is named or one is silent."""
    silent = "; ".join(f"{sentinel.at}: {sentinel.error}" for sentinel in sentinels if sentinel.error)
    counts = f"{len(answering)} of {len(sentinels)}" + (f"; {silent}" if silent else "")
    if len(sentinels) == 1 and answering:
        counts += ": name the others as well, or nobody can find the master once this one is down"
    return Check("Sentinels answer", bool(answering), counts, warns=bool(silent) or len(sentinels) == 1)


def judge_names(answering: Sequence[SentinelFacts], name: str) -> Check:
    """Check that the Sentinels name one master."""
    title, places = "Sentinels know the master", {sentinel.master for sentinel in answering if sentinel.master}
    if not places:
        others = sorted({other for sentinel in answering for other in sentinel.masters})
        return Check(title, ok=False, finding=f"none knows {name}, only {', '.join(others) or 'none at all'}: {ADVICE}")
    if len(places) > 1:
        report = f"{' and '.join(sorted(places))}: in a failover they differ for seconds; if it stays, reset those"
        return Check(title, ok=False, finding=report)
    ignorant = [sentinel.at for sentinel in answering if not sentinel.master]
    report = f"{name} is {places.pop()}" + (f"; not known to {', '.join(ignorant)}" if ignorant else "")
    return Check(title, ok=True, finding=report, warns=bool(ignorant))


def judge_quorum(informed: Sequence[SentinelFacts]) -> Check:
    """Check that enough Sentinels run to elect another master."""
    lacking = next((sentinel for sentinel in informed if sentinel.quorum), None)
    report = f"{lacking.at}: {lacking.quorum}: start the others, or lower the quorum" if lacking else "yes"
    return Check("Sentinels could name another master", lacking is None, report)


def judge_replication(replication: Replication, rest: timedelta) -> list[Check]:
    """Judge what a failover costs. `rest`: how long workers wait before they go on with another master."""
    count = replication.replicas
    finding = str(count) if count else "none: there is nothing to fail over to"
    return [
        Check("Master has replicas", ok=True, finding=finding, warns=not count),
        judge_lone_writes(replication, rest),
    ]


def judge_lone_writes(replication: Replication, rest: timedelta) -> Check:
    """Judge whether a master that is cut off refuses writes: those that it takes are lost in the failover."""
    name, needed, lag = "Master takes nothing alone", replication.needed, replication.lag
    if not needed:
        finding = "after a failover it would go on taking writes that are lost: set min-replicas-to-write 1"
        return Check(name, ok=False, finding=finding)
    if lag is not None and lag >= rest.total_seconds():
        finding = (
            f"cut off, it does so for {lag} s, and workers go on with another after {rest.total_seconds():g} s: "
            "lower min-replicas-max-lag or raise BERTHMASTER_REDIS__FAILOVER_WAIT"
        )
        return Check(name, ok=True, finding=finding, warns=True)
    if needed < (half := (replication.replicas + 1) // 2):
        finding = (
            f"cut off with {needed} of its {replication.replicas} replicas, it goes on taking writes that are lost: "
            f"set min-replicas-to-write {half}"
        )
        return Check(name, ok=True, finding=finding, warns=True)
    return Check(name, ok=True, finding="min-replicas-to-write is set")
