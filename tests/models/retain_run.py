"""One run on the name `a`, call by call, see retain.py: what it does first, and what each call or script changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.models.retain_states import B, Entry, Flags, Listener, Pod, Run, S, put, stale


def decide(pod: Pod, e: Entry) -> str:
    """'' for nothing to do."""
    own = bool(pod.uid) and e.uid == pod.uid
    if e.state == "F" or e.uid == B:
        return "allocate" if e.state == "F" and pod.asks else ""
    if e.state == "G" or (own and not pod.asks):
        return "clear" if own and (pod.shows or e.state != "G") else "delete" if e.state == "G" else "go"
    return of_its_own(pod, e) if own else of_the_dead(pod, e)


def of_the_dead(pod: Pod, e: Entry) -> str:
    if not (e.state == "R" or (e.state == "B" and e.keep)) or (pod.uid and not pod.asks):
        return "go"
    if pod.asks:
        return "adopt"
    return "" if e.timed else "list"


def of_its_own(pod: Pod, e: Entry) -> str:
    if e.state == "A" or not e.arn:
        return "create"
    if e.state == "R":
        return "list"
    if not e.aimed:
        return "register"
    if e.keep != pod.keep:
        return "relabel"
    return "" if pod.shows else "record"


def fresh_arn(s: S) -> int:
    used = {s.cloud.arn, s.entry.arn, *(r.arn for r in s.runs if r), *((s.seen[0].arn,) if s.seen else ())}
    return next(arn for arn in range(1, 9) if arn not in used)


def act(s: S, i: int, run: Run, f: Flags) -> S:
    """One call or script, and what the run does next ('' = it ends)."""
    t, then = CALLS[run.at](s, run, f)
    after = t.runs[i]
    assert after
    if not then or (then in OUTSIDE and not run.lease):
        return put(t, i, None)
    new = run._replace(at=then, pod=run.pod._replace(shows=0) if run.at == "clear" else run.pod)
    if run.at == "create":
        new = new._replace(arn=t.cloud.arn, keep=0 if t.cloud == s.cloud else run.pod.keep)
    if run.at == "adopt":
        new = new._replace(uid=run.pod.uid, keep=run.pod.keep)
    if run.at == "list":
        arn = s.cloud.arn if not run.arn and s.cloud.uid == run.uid else run.arn  # never recorded: found by its tag
        new = new._replace(arn=arn, listed=s.cloud.targets if s.cloud.arn == arn else frozenset())
    return put(t, i, new)


def script(s: S, run: Run, wanted: str, entry: Entry, then: str) -> tuple[S, str]:
    refused = run.fenced or s.lost or s.entry.uid != run.uid or s.entry.state not in wanted
    return (s, "") if refused else (s._replace(entry=entry), then)


def allocate(s: S, run: Run, _: Flags) -> tuple[S, str]:
    if run.fenced or s.lost or s.entry.state != "F":
        return s, ""
    return s._replace(entry=Entry("A", run.pod.uid)), "create"


def create(s: S, run: Run, _f: Flags) -> tuple[S, str]:
    if not s.cloud.arn:
        return s._replace(cloud=Listener(fresh_arn(s), run.uid, run.pod.keep)), "register"
    if s.cloud.uid == run.uid:
        return s, "register"
    if s.cloud.uid == B and s.b == 2:
        given = Entry("B", B, 0, s.cloud.arn)
        return script(s, run, "ABR", given, "")
    _, mine = script(s, run, "ABR", s.entry, "mine")
    return (s._replace(cloud=Listener()) if mine else s), ""


def on_cloud(s: S, run: Run, cloud: Listener, then: str) -> tuple[S, str]:
    return (s._replace(cloud=cloud), then) if s.cloud.arn == run.arn else (s, "")


def adopt(s: S, run: Run, f: Flags) -> tuple[S, str]:
    mine = Entry("R", run.pod.uid, s.entry.keep, s.entry.arn)
    return script(s, run, "BR" if f.oneway else "BRG", mine, ("list" if f.compare else "tag") if mine.arn else "")


def tag(s: S, run: Run, f: Flags) -> tuple[S, str]:
    if s.cloud.arn != run.arn:
        return script(s, run, "R", s.entry._replace(arn=0), "")
    told = s._replace(promise=s.promise * run.keep)
    return told._replace(cloud=s.cloud._replace(uid=run.uid, keep=run.keep) if f.retag else s.cloud), "register"


def drop(s: S, run: Run, _: Flags) -> tuple[S, str]:
    """What was listed before, but the adopter's own."""
    adopts = run.uid == run.pod.uid
    if s.cloud.arn != run.arn:
        return script(s, run, "R", s.entry._replace(arn=0), "") if adopts else (s, "retain")
    strangers = run.listed - {run.uid} if adopts else run.listed
    return s._replace(cloud=s.cloud._replace(targets=s.cloud.targets - strangers)), "tag" if adopts else "retain"


def register(s: S, run: Run, _: Flags) -> tuple[S, str]:
    if s.cloud.arn == run.arn and s.entry.uid != run.uid:
        s = s._replace(late=1)
    return on_cloud(s, run, s.cloud._replace(targets=s.cloud.targets | {run.uid}), "record")


def record(s: S, run: Run, _: Flags) -> tuple[S, str]:
    keep = s.entry.keep if s.entry.state == "B" and s.entry.arn else run.keep
    t, then = script(s, run, "ABR", Entry("B", run.uid, keep, run.arn, aimed=1), "end" if run.pod.shows else "publish")
    return (promise(t, keep), then.replace("end", "")) if then else (t, "")


def promise(s: S, keep: int) -> S:
    return s._replace(promise=int(bool(keep and (s.pod.asks or not s.pod.uid))))


def relabel(s: S, run: Run, f: Flags) -> tuple[S, str]:
    if s.cloud.arn != run.arn:
        return script(s, run, "B", s.entry._replace(arn=0, aimed=0), "")
    return s._replace(cloud=s.cloud._replace(keep=run.pod.keep)), "rekeep" if f.tagfirst else ""


def rekeep(s: S, run: Run, f: Flags) -> tuple[S, str]:
    t, then = script(s, run, "B", s.entry._replace(keep=run.pod.keep), "relabel" if not f.tagfirst else "end")
    return (promise(t, run.pod.keep), then.replace("end", "")) if then else (t, "")


def write(s: S, run: Run, shows: int, then: str) -> tuple[S, str]:
    if not run.fresh or s.pod.uid != run.pod.uid:
        return s, ""
    return stale(s._replace(pod=s.pod._replace(shows=shows))), then


def go(s: S, run: Run, _: Flags) -> tuple[S, str]:
    return script(s, run, "ABRG", s.entry._replace(state="G", timed=0), "delete")


def delete(s: S, run: Run, _: Flags) -> tuple[S, str]:
    """By the recorded ARN; one that was never recorded is found by the tag."""
    ours = s.cloud.arn and (s.cloud.arn == run.arn or (not run.arn and s.cloud.uid == run.uid))
    return (s._replace(cloud=Listener()) if ours else s), "free"


def publish(s: S, run: Run, _: Flags) -> tuple[S, str]:
    return write(s, run, 1, "")


def clear(s: S, run: Run, _: Flags) -> tuple[S, str]:
    return write(s, run, 0, "go")


def look(s: S, _run: Run, _: Flags) -> tuple[S, str]:
    return s, "drop"


def free(s: S, run: Run, _: Flags) -> tuple[S, str]:
    return script(s, run, "G", Entry(), "")


def retain(s: S, run: Run, _: Flags) -> tuple[S, str]:
    t, done = script(s, run, "BR", s.entry._replace(state="R", arn=run.arn, timed=1), "end")
    return (t._replace(due=0) if done else t), ""


Call = Callable[[S, Run, Flags], tuple[S, str]]
CALLS: Final[Mapping[str, Call]] = {
    "allocate": allocate, "create": create, "adopt": adopt, "list": look, "drop": drop, "tag": tag,
    "register": register, "record": record, "relabel": relabel, "rekeep": rekeep, "publish": publish,
    "clear": clear, "go": go, "delete": delete, "free": free, "retain": retain,
}  # fmt: skip
OUTSIDE: Final = {
    "create",
    "list",
    "drop",
    "tag",
    "register",
    "relabel",
    "publish",
    "clear",
    "delete",
}  # need the lease
