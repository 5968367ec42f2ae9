"""One run of a worker for the ports of a pod, step by step: the program that ledger.py and rebuild.py explore.

A run opens (raises the fence), reads its pod, decides, and does one of: bind (allocate, target group, listener,
record, publish), release (clear the annotation, learn the ARN, mark releasing, delete listener and target group, free),
or, when a listener of somebody else is on its port, give way or take it away. A step is one script or one call.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.models.port_states import (
    FREE,
    MINE,
    NAMES,
    Entry,
    Listener,
    Pod,
    Run,
    S,
    entry,
    fenced,
    name_of,
    put,
    without,
    written,
)

RULES = (
    *("open", "alluids", "precond", "clearfirst", "rewrite", "confirm", "oneway", "askledger", "tagrule", "surplus"),
    *("sweepclaim", "audit", "incarnation", "replid", "stampfence", "onewriter", "freshread"),
)

Act = Callable[[S, int, Run], tuple[str, S]]


class PortRun:
    def __init__(self, off: tuple[str, ...], *, retain: bool) -> None:
        assert set(off) <= set(RULES)
        self.off, self.retain = set(off), retain
        self.acts: dict[str, Act] = {
            "read": self.read,
            "allocate": self.allocate,
            "make group": self.make_group,
            "make listener": self.make_listener,
            "ask its pod": self.ask_its_pod,
            "take it away": self.take_it_away,
            "publish": self.publish,
            "clear": self.publish,
            "learn": self.learn,
            "sweep": self.sweep,
            "delete listener": self.delete_listener,
            "delete group": self.delete_group,
        }

    def on(self, rule: str) -> bool:
        return rule not in self.off

    def refused(self, s: S, run: Run) -> bool:
        return run.fenced

    def ledger(self, s: S, run: Run) -> tuple[Entry, ...]:
        return s.ledger

    def store(self, s: S, run: Run, port: int, what: Entry) -> S:
        return entry(s, port, what)

    def view(self, s: S, name: int) -> tuple[Pod, bool]:
        return s.pods[name], True

    def act(self, s: S, at: int, run: Run) -> tuple[str, S]:
        script = SCRIPTS.get(run.at)
        what, after = script(self, s, at, run) if script else self.acts[run.at](s, at, run)
        late = "" if run.leased else " (late)"
        return f"{NAMES[run.name]}{late}: {what}", after

    def decide(self, s: S, name: int, pod: Pod, ledger: tuple[Entry, ...]) -> tuple[str, int, int]:
        """The next operation, its port and the UID of the entry; '' = nothing is left to do."""
        mine = [p for p, e in enumerate(ledger) if e.uid == pod.uid and e.state in MINE]
        for port, there in enumerate(ledger):
            if operation := self.give_back(name, pod, ledger, mine, port):
                return operation, port, there.uid
        if pod.wants and not mine:
            return ("allocate", 0, pod.uid) if FREE in ledger else ("", 0, 0)
        for port in mine if pod.wants else ():
            if ledger[port].state == "allocated" or (self.on("audit") and s.listeners[port].tag != pod.uid):
                return "make group", port, pod.uid
            if pod.shown != port and len(mine) == 1:
                return ("record" if self.on("confirm") else "publish"), port, pod.uid
        return ("clear", pod.shown, pod.uid) if pod.uid and pod.shown >= 0 and not mine else ("", 0, 0)

    def give_back(self, name: int, pod: Pod, ledger: tuple[Entry, ...], mine: list[int], port: int) -> str:
        state, uid = ledger[port]
        if state == "free" or name_of(uid) != name or (uid != pod.uid and pod.uid and not self.on("alluids")):
            return ""
        shows = uid == pod.uid and (pod.shown == port or self.on("rewrite")) and self.on("clearfirst")
        release = "clear" if shows else "learn" if self.on("askledger") else "release"
        if state == "releasing":
            return "take back" if uid == pod.uid and pod.wants and not self.on("oneway") else release
        if state == "retained" and (uid == pod.uid or not pod.uid or not pod.wants):
            return ""
        if self.keeps(pod, mine, port, uid):
            return ""
        if self.retain and name == 0 and uid != pod.uid:
            return "take over" if pod.wants and not mine else "retain"
        return release

    def keeps(self, pod: Pod, mine: list[int], port: int, uid: int) -> bool:
        if uid != pod.uid or not pod.wants or len(mine) < 2 or not self.on("surplus"):
            return uid == pod.uid and pod.wants
        return port == (pod.shown if pod.shown in mine else mine[0])

    def script(self, s: S, at: int, run: Run, states: tuple[str, ...], new: Entry, then: str) -> tuple[str, S]:
        """One script: it checks the fence, compares port, state and owner, and sets the entry."""
        words = f"{run.at} {run.port} of {run.uid}"
        there = self.ledger(s, run)[run.port]
        if self.refused(s, run) or there.uid != run.uid or there.state not in states:
            return f"{words}: refused", put(s, at, None)
        s = self.store(s, run, run.port, there if new.state == "same" else new)
        if not self.on("open"):
            s = fenced(s, run.name, [k for k, r in enumerate(s.runs) if r and not r.leased and k != at])
        return words, put(s, at, run._replace(at=then) if then else None)

    def read(self, s: S, at: int, run: Run) -> tuple[str, S]:
        pod, present = self.view(s, run.name)
        operation, port, uid = self.decide(s, run.name, pod, self.ledger(s, run))
        read = run._replace(at=operation, uid=uid, port=port, wants=pod.wants, shown=pod.shown, fresh=present)
        return f"reads {pod}: {operation}", put(s, at, read if operation else None)

    def allocate(self, s: S, at: int, run: Run) -> tuple[str, S]:
        ledger = self.ledger(s, run)
        if self.refused(s, run) or FREE not in ledger or any(e.uid == run.uid and e.state in MINE for e in ledger):
            return "allocate: refused", put(s, at, None)
        port = ledger.index(FREE)
        s = self.store(s, run, port, Entry("allocated", run.uid))
        return f"allocates {port}", put(s, at, run._replace(at="make group", port=port))

    def make_group(self, s: S, at: int, run: Run) -> tuple[str, S]:
        s = s._replace(groups=s.groups | {(run.uid, run.port)})
        return f"makes the target group of {run.port}", put(s, at, run._replace(at="make listener"))

    def make_listener(self, s: S, at: int, run: Run) -> tuple[str, S]:
        there = s.listeners[run.port]
        if (run.uid, run.port) not in s.groups:
            return "make listener: no target group", put(s, at, None)
        if there.tag and there.tag != run.uid:
            found = run._replace(at="ask its pod", arn=there.arn, tag=there.tag)
            return f"finds the listener of {there.tag}", put(s, at, found)
        if not there.tag:
            used = {one.arn for one in s.listeners} | {r.arn for r in s.runs if r}
            made = Listener(run.uid, min(set(range(1, 9)) - used))
            s = s._replace(listeners=tuple(made if k == run.port else other for k, other in enumerate(s.listeners)))
        return f"makes the listener of {run.port}", put(s, at, run._replace(at="record"))

    def ask_its_pod(self, s: S, at: int, run: Run) -> tuple[str, S]:
        pod = s.pods[name_of(run.tag)]
        stays = pod.uid == run.tag and (pod.shown == run.port or not self.on("tagrule"))
        then = "give way" if stays else "confirm" if self.on("askledger") else "take it away"
        return f"reads the pod of {run.tag}", put(s, at, run._replace(at=then))

    def take_it_away(self, s: S, at: int, run: Run) -> tuple[str, S]:
        gone = without(s, run.arn)
        return f"deletes listener {run.arn} of {run.tag}", put(gone, at, run._replace(at="make listener", arn=0, tag=0))

    def publish(self, s: S, at: int, run: Run) -> tuple[str, S]:
        words, pod = f"{run.at} {run.port} on {run.uid}", s.pods[run.name]
        if pod.uid != run.uid or (self.on("precond") and not run.fresh):
            return f"{words}: conflict", put(s, at, None)
        there = self.ledger(s, run)[run.port]
        release = run.at == "clear" and there.uid == run.uid and there.state in (*MINE, "releasing")
        shown = run.port if run.at == "publish" else -1 if run.shown == run.port else run.shown
        s = written(s, run.name, pod._replace(shown=shown), by=at)
        then = "learn" if self.on("askledger") else "release"
        return words, put(s, at, run._replace(at=then, shown=shown) if release else None)

    def learn(self, s: S, at: int, run: Run) -> tuple[str, S]:
        there = s.listeners[run.port]
        arn = there.arn if there.tag == run.uid else 0
        then = "release" if self.on("askledger") else "delete listener" if arn else "delete group"
        return f"learns the ARN at {run.port}: {arn}", put(s, at, run._replace(at=then, arn=arn))

    def delete_listener(self, s: S, at: int, run: Run) -> tuple[str, S]:
        return f"deletes listener {run.arn}", put(without(s, run.arn), at, run._replace(at="delete group", arn=0))

    def delete_group(self, s: S, at: int, run: Run) -> tuple[str, S]:
        if s.listeners[run.port].tag == run.uid and (run.uid, run.port) in s.groups:
            return "delete group: in use", put(s, at, None)
        s = s._replace(groups=s.groups - {(run.uid, run.port)})
        return f"deletes the target group of {run.port}", put(s, at, run._replace(at="free"))

    def sweep(self, s: S, at: int, run: Run) -> tuple[str, S]:
        if not self.on("sweepclaim"):
            return f"deletes listener {run.arn}", put(without(s, run.arn), at, None)
        if self.ledger(s, run)[run.port] != FREE or self.refused(s, run):
            return f"{run.port} is not free", put(s, at, None)
        s = self.store(s, run, run.port, Entry("releasing", run.tag))
        return f"takes {run.port} as releasing", put(s, at, None)


def heir(s: S, run: Run) -> Entry:
    return Entry("allocated", s.pods[run.name].uid or run.uid)


def _record(model: PortRun, s: S, at: int, run: Run) -> tuple[str, S]:
    return model.script(s, at, run, MINE, Entry("bound", run.uid), "" if run.shown == run.port else "publish")


def _release(model: PortRun, s: S, at: int, run: Run) -> tuple[str, S]:
    then = "learn" if not model.on("askledger") else "delete listener" if run.arn else "delete group"
    return model.script(s, at, run, (*MINE, "releasing"), Entry("releasing", run.uid), then)


SCRIPTS: dict[str, Callable[[PortRun, S, int, Run], tuple[str, S]]] = {
    "record": _record,
    "release": _release,
    "take over": lambda m, s, at, run: m.script(s, at, run, (*MINE, "retained"), heir(s, run), ""),
    "retain": lambda m, s, at, run: m.script(s, at, run, MINE, Entry("retained", run.uid), ""),
    "take back": lambda m, s, at, run: m.script(s, at, run, ("releasing",), Entry("allocated", run.uid), ""),
    "confirm": lambda m, s, at, run: m.script(s, at, run, MINE, Entry("same"), "take it away"),
    "give way": lambda m, s, at, run: m.script(s, at, run, MINE, Entry("bound", run.tag), ""),
    "free": lambda m, s, at, run: m.script(s, at, run, ("releasing",), FREE, ""),
}
