"""A port that stays with its name: bound, retained when its pod is gone, adopted by the next pod of that name, or over.

One port, a name `a` whose pods come and go (uid 1, 2, 3) and may ask for retention, a name `b` (uid 11) that takes
the port when it is free. Two workers run on `a`; a worker whose lease ended goes on with the call it was about to make.
The listener has an ARN, the tags uid and keep, and registered addresses (one a uid). Redis may be lost; a rebuild lists
the cloud, then the pods, then stamps. `b` acts in one step: its own races are those of any pod.

Rules: I1 (one live owner), S (a published port is not on its way out), K (a port that was promised is not given up
before its time, unless the pod that came back does not ask for it or for retention), T (what is published leads to its
pod alone, what is retained nowhere; a stale call may change that, and the audit, which is modelled, puts it right).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.models.explore import ENV, SYS, Result, explore
from tests.models.retain_run import act, decide, fresh_arn
from tests.models.retain_states import B, Entry, Flags, Listener, Pod, Run, S, put, spend, stale


def steps(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    yield from users(s)
    yield from time(s, f)
    yield from audit(s)
    yield from other(s)
    yield from redis(s, f)
    for i, run in enumerate(s.runs):
        if run is None:
            if not s.lost and not any(r and r.lease for r in s.runs) and decide(s.pod, s.entry):
                a, b = (r and r._replace(fenced=int(f.fence)) for r in s.runs)
                first = decide(s.pod, s.entry)
                if first == "list" and not (f.compare if s.pod.uid else f.empty):
                    first = "tag" if s.pod.uid else "retain"
                if first == "relabel" and not f.tagfirst:
                    first = "rekeep"
                begun = Run(first, s.pod, s.entry.uid or s.pod.uid, s.entry.arn, keep=s.pod.keep)
                yield SYS, f"a run begins: {begun.at}", put(s._replace(runs=(a, b)), i, begun)
            continue
        yield SYS, f"{'late ' * (not run.lease)}{run.at} of uid {run.uid}", act(s, i, run, f)
        if s.left[2] and run.lease:
            yield ENV, f"its lease ends before {run.at}", put(spend(s, 2), i, run._replace(lease=0))
        if s.left[3]:
            yield ENV, f"it dies before {run.at}", put(spend(s, 3), i, None)


def users(s: S) -> Iterator[tuple[str, str, S]]:
    pod = s.pod
    if pod.uid:
        yield ENV, f"pod {pod.uid} is deleted", stale(s._replace(pod=Pod(), promise=s.promise * pod.keep))
        if s.left[1]:
            for changed in (pod._replace(keep=1 - pod.keep), pod._replace(asks=1 - pod.asks)):
                t = stale(spend(s._replace(pod=changed), 1))
                yield ENV, f"pod is now {changed}", t._replace(promise=s.promise * changed.asks)
    elif s.left[0]:
        uid = 4 - s.left[0]
        for asks, keep in ((1, 1), (1, 0), (0, 0)):
            yield ENV, f"pod {uid} is created", spend(s._replace(pod=Pod(uid, asks, keep), promise=s.promise * asks), 0)


def time(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    e = s.entry
    over = e.state == "R" and e.timed
    if over and not s.due:
        yield ENV, "its time is over", s._replace(due=1, promise=0)
    if over and s.due and not s.lost and not s.swept:
        yield SYS, "the sweep", s._replace(entry=e._replace(state="G")) if f.atomic else s._replace(swept=1)
    if s.swept:
        going = s._replace(swept=0, entry=e._replace(state="G")) if e.state != "F" else s._replace(swept=0)
        yield SYS, "the sweep writes", going


def audit(s: S) -> Iterator[tuple[str, str, S]]:
    e = s.entry
    owner = frozenset({e.uid}) if e.state == "B" else frozenset[int]()
    if e.state in "BR" and not s.lost and not any(s.runs):
        if s.cloud.arn and s.cloud.arn == e.arn and s.cloud.targets != owner & s.cloud.targets:
            yield SYS, "the audit drops strangers", s._replace(cloud=s.cloud._replace(targets=s.cloud.targets & owner))
        wrong = e.state == "B" and (s.cloud.uid != e.uid or s.cloud.keep < e.keep)
        if s.cloud.arn and s.cloud.arn == e.arn and wrong:
            yield SYS, "the audit restores tags", s._replace(cloud=s.cloud._replace(uid=e.uid, keep=e.keep))
        if e.arn and s.cloud.arn != e.arn:
            yield SYS, "the audit misses the listener", s._replace(entry=e._replace(arn=0, aimed=0))
    if e.state == "F" and s.cloud.arn and not s.lost and not any(s.runs):
        yield SYS, "the audit takes an orphan", s._replace(entry=Entry("G", s.cloud.uid, 0, s.cloud.arn))


def other(s: S) -> Iterator[tuple[str, str, S]]:
    if s.b in (0, 1, 2):
        if s.b == 0:
            yield ENV, "b comes", s._replace(b=1)
        else:
            yield ENV, "b goes", s._replace(b=3)
    if s.lost:
        return
    if s.b == 1 and s.entry.state == "F":
        if s.cloud.arn and s.cloud.uid == s.pod.uid and s.pod.shows:
            given = Entry("B", s.cloud.uid, s.cloud.keep, s.cloud.arn, aimed=1)
            yield SYS, "b gives way", s._replace(entry=given)
        else:
            made = s._replace(cloud=Listener(fresh_arn(s), B, 0, frozenset({B})), b=2)
            yield SYS, "b binds", made._replace(entry=Entry("B", B, 0, made.cloud.arn))
    if s.b == 3 and s.entry.uid == B:
        cloud = Listener() if s.cloud.uid == B else s.cloud
        yield SYS, "b's port is freed", s._replace(entry=Entry(), cloud=cloud)


def redis(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    if s.left[4]:
        a, b = (r and r._replace(lease=0, fenced=1) for r in s.runs)
        yield ENV, "Redis is lost", spend(s, 4)._replace(lost=1, entry=Entry(), runs=(a, b), seen=None, swept=0)
    if s.lost == 1:
        yield SYS, "rebuild lists the cloud", s._replace(lost=2, seen=(s.cloud, Pod(), 0))
    elif s.lost == 2 and s.seen:
        yield SYS, "rebuild lists pods", s._replace(lost=3, seen=(s.seen[0], s.pod, s.b))
    elif s.lost == 3 and s.seen:
        entry = rebuilt(*s.seen, f)
        yield SYS, f"rebuild stamps {entry}", s._replace(lost=0, entry=entry, seen=None, due=0)


def rebuilt(cloud: Listener, pod: Pod, b: int, f: Flags) -> Entry:
    shows = pod.asks and pod.shows
    if not cloud.arn:
        return Entry("B", pod.uid) if shows else Entry("B", B) if b == 2 else Entry()
    if cloud.uid == B or (cloud.uid == pod.uid and pod.asks):
        return Entry("B" if cloud.uid != B or b == 2 else "G", cloud.uid, cloud.keep, cloud.arn, 0, int(bool(shows)))
    kept = (cloud.keep and f.keeptag) or (shows and f.byname)
    heir = kept and pod.asks  # no time runs against a port that is adopted, or whose targets nobody has dropped
    return Entry("R" if kept else "G", pod.uid if heir else cloud.uid, cloud.keep, cloud.arn)


def one_owner(s: S) -> bool:
    owners = {s.pod.uid} if s.pod.shows else set[int]()
    if s.entry.state in "ABR" and s.entry.uid and s.entry.uid == s.pod.uid and not s.lost:
        owners.add(s.entry.uid)
    return len(owners | ({B} if s.b == 2 else set())) < 2


def served(s: S) -> bool:
    """A published port is not on its way out; and while Redis lived, its listener is there."""
    e, lives = s.entry, s.pod.shows and s.pod.asks and not s.lost
    gone = e.state in "FG" and s.cloud.uid != B
    return not lives or not gone


def there(s: S) -> bool:
    bound = s.entry.state == "B" and s.entry.uid == s.pod.uid and s.pod.shows and s.entry.arn
    return not bound or s.cloud.arn != 0


def promised(s: S) -> bool:
    return not s.promise or s.lost != 0 or (s.entry.state in "ABR" and s.entry.uid != B)


def leads_home(s: S) -> bool:
    bound = s.entry.state == "B" and s.entry.uid == s.pod.uid and s.pod.shows
    return not bound or s.late != 0 or s.cloud.targets <= {s.pod.uid}


def leads_nowhere(s: S) -> bool:
    return not s.entry.timed or not s.cloud.targets


def rules(f: Flags) -> dict[str, Callable[[S], bool]]:
    """A delete that began before Redis was lost may hit a listener that is kept after it: the audit makes it again."""
    always = {"I1": one_owner, "K": promised, "T": leads_home}
    quiet = {} if f.loss or f.slow else {"T": lambda s: leads_home(s) and leads_nowhere(s)}
    return always | quiet | {"S": served if f.loss else lambda s: there(s) and served(s)}


def settled(s: S) -> bool:
    pod, e, cloud = s.pod, s.entry, s.cloud
    if any(s.runs) or s.lost or (s.b == 1 and e.state == "F"):
        return False
    if e.uid == B:
        return s.b == 2 and not pod.shows and cloud.uid == B
    if pod.uid and pod.asks:
        right = Entry("B", pod.uid, pod.keep, cloud.arn, aimed=1)
        kept = cloud.keep >= pod.keep and cloud.uid == pod.uid
        return e == right and kept and cloud.targets == {pod.uid} and pod.shows == 1
    if e.state == "R":
        return not pod.uid and e.timed == 1 and not s.due and not cloud.targets
    return e.state == "F" and not pod.shows and not cloud.arn


def canon(s: S) -> S:
    """Workers are alike; ARNs matter by equality only."""
    runs = sorted((r for r in s.runs if r), key=repr)
    arns = {s.cloud.arn, s.entry.arn, *(r.arn for r in runs), *((s.seen[0].arn,) if s.seen else ())} - {0}
    new = {arn: n for n, arn in enumerate(sorted(arns), 1)} | {0: 0}
    row: list[Run | None] = [r._replace(arn=new[r.arn]) for r in runs]
    seen = s.seen and (s.seen[0]._replace(arn=new[s.seen[0].arn]), *s.seen[1:])
    pair = (*row, None, None)[:2]
    return s._replace(
        runs=(pair[0], pair[1]),
        entry=s.entry._replace(arn=new[s.entry.arn]),
        cloud=s.cloud._replace(arn=new[s.cloud.arn]),
        seen=seen,
    )


def check(f: Flags) -> Result:
    init = S(Pod(1, 1, f.keep), b=0 if f.other else 3, left=(f.pods, f.toggles, f.slow, f.crash, f.loss))
    return explore(init, lambda s: steps(s, f), rules(f), settled, canon)
