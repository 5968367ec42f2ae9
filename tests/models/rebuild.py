"""Loss of Redis while workers go on: flush, restart with an old copy, failback; rebuild from annotations and tags.

The world of ledger.py, and a Redis that may be copied (what a restart, a lagging replica or an old dump brings back)
and lost: the ledger is empty or that copy, fences and leases are gone, every grant waits for a rebuild. A rebuild lists
listeners and target groups, lists pods, then writes and stamps; two may overlap. Runs of before go on with what they
knew, at any later time. Snapshots of pods are lost or old as well, unless runs read the API (`freshread`).

Shows: no port has two live owners, and everything ends as in ledger.py. That a published port has its listener at every
moment is not demanded: a delete of before the loss may hit what was just confirmed; rule `audit` brings it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.models.explore import ENV, SYS, Result
from tests.models.ledger import TWO_OWNERS, Bounds, Ledger, explored
from tests.models.port_states import FREE, GONE, REBUILD, Entry, Listing, Pod, Redis, Run, S, entry, name_of, put

EMPTY = ((FREE, FREE), (GONE, GONE))


class Rebuild(Ledger):
    def init(self) -> S:
        return super().init()._replace(redis=Redis(copy=EMPTY, copies=self.bounds.copies, losses=self.bounds.losses))

    def ledger(self, s: S, run: Run) -> tuple[Entry, ...]:
        return s.redis.old if s.redis.old and not run.current else s.ledger

    def store(self, s: S, run: Run, port: int, what: Entry) -> S:
        old = s.redis.old
        if old is None or run.current:
            return entry(s, port, what)
        return s._replace(redis=s.redis._replace(old=(*old[:port], what, *old[port + 1 :])))

    def refused(self, s: S, run: Run) -> bool:
        if s.redis.old and not run.current:
            return run.fenced
        if self.on("incarnation") and not (run.current and s.redis.ready):
            return True
        return run.fenced or (run.at == "allocate" and not s.redis.ready)

    def view(self, s: S, name: int) -> tuple[Pod, bool]:
        snapshot = s.redis.snapshots[name]
        return (s.pods[name], True) if snapshot is None or snapshot == s.pods[name] else (snapshot, False)

    def step(self, s: S) -> Iterator[tuple[str, str, S]]:
        yield from super().step(s)
        if s.redis.copies and s.redis.ready:
            yield ENV, "Redis is copied", s._replace(redis=s.redis._replace(copy=(s.ledger, s.pods), copies=0))
        if s.redis.losses:
            yield from self.lose(s)
        for name, snapshot in enumerate(s.redis.snapshots):
            if snapshot is not None:
                fresh = tuple(None if k == name else other for k, other in enumerate(s.redis.snapshots))
                yield (
                    SYS,
                    f"the publisher renews a snapshot of {name}",
                    s._replace(redis=s.redis._replace(snapshots=fresh)),
                )

    def lose(self, s: S) -> Iterator[tuple[str, str, S]]:
        """Leases and fences are gone; runs name the incarnation of before."""
        ledger, pods = s.redis.copy
        runs = tuple(r and r._replace(leased=False, fenced=False, current=False) for r in s.runs)
        less = s.redis._replace(copies=0, losses=s.redis.losses - 1)
        less = less._replace(snapshots=(None, None) if self.on("freshread") else pods)
        lost = less._replace(ready=False, old=None if self.on("onewriter") else s.ledger)
        yield ENV, "Redis is flushed or back as a copy", renewed(s._replace(ledger=ledger, runs=runs, redis=lost))
        if not self.on("replid") and s.redis.ready:
            same = tuple(r and r._replace(leased=False, fenced=False) for r in s.runs)
            back = less._replace(ready=True, old=None)
            yield ENV, "failover and back: the same run_id", renewed(s._replace(ledger=ledger, runs=same, redis=back))

    def starts(self, s: S, at: int) -> Iterator[tuple[str, S]]:
        if s.redis.ready or not self.on("incarnation"):
            yield from super().starts(s, at)
        if not s.redis.ready and not any(r and r.name == REBUILD and r.leased for r in s.runs):
            yield "a rebuild starts", put(s, at, Run("list AWS", REBUILD))

    def act(self, s: S, at: int, run: Run) -> tuple[str, S]:
        if run.name != REBUILD:
            return super().act(s, at, run)
        if run.listed is None:
            listing = Listing(tuple(there.tag for there in s.listeners), tuple(sorted(s.groups)))
            return "the rebuild lists AWS", put(s, at, run._replace(at="list pods", listed=listing))
        if run.at == "list pods":
            return "the rebuild lists pods", put(
                s, at, run._replace(at="stamp", listed=run.listed._replace(pods=s.pods))
            )
        if self.on("stampfence") and (s.redis.ready or not run.current):
            return "the rebuild may not stamp", put(s, at, None)
        ledger = tuple(rebuilt(run.listed, port) for port in range(len(s.ledger)))
        done = s._replace(ledger=ledger, redis=s.redis._replace(ready=True))
        return f"the rebuild writes {ledger}", put(done, at, None)

    def rules(self) -> dict[str, Callable[[S], bool]]:
        return {TWO_OWNERS: self.one_owner}

    def owners(self, s: S, port: int, there: Entry) -> int:
        return super().owners(s, port, there if s.redis.ready else FREE)

    def settled(self, s: S) -> bool:
        return s.redis.ready and s.redis.snapshots == (None, None) and super().settled(s)


def renewed(s: S) -> S:
    return s._replace(runs=tuple(sorted(s.runs, key=lambda r: r or ())))


def rebuilt(listing: Listing, port: int) -> Entry:
    """What one port is, by tags of listeners, target groups and annotations."""
    if tag := listing.tags[port]:
        pod = listing.pods[name_of(tag)]
        best = pod.shown if pod.shown >= 0 else listing.tags.index(tag)
        return Entry("bound" if pod.uid == tag and pod.wants and port == best else "releasing", tag)
    published = next((pod.uid for pod in listing.pods if pod.uid and pod.shown == port), 0)
    if published:
        return Entry("bound", published)
    return next((Entry("releasing", uid) for uid, there in listing.groups if there == port), FREE)


def check(bounds: Bounds, *off: str) -> Result:
    """Explore losses of Redis without the rules that are `off`."""
    return explored(Rebuild(off, bounds))
