"""The steps of workers that create and remove load balancers, and what a pool's scripts compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.models.explore import ENV, SYS
from tests.models.scale_up_states import NO_INTENT, Bounds, Intent, Key, LoadBalancer, Owner, S, Worker, put

Edge = tuple[str, str, S]
RULES = (
    *("slots", "oneintent", "close", "netdemand", "residual", "keydel", "stays", "unwait", "passon", "sweepwakes"),
    *("fence", "retiretag", "incarnation", "adopt", "freshepoch", "resync"),
)
DECIDED = ("record", "create", "add")


class Pool:
    def __init__(self, off: tuple[str, ...], bounds: Bounds) -> None:
        assert set(off) <= set(RULES)
        self.off, self.bounds, self.capacity = set(off), bounds, bounds.capacity
        self.acts: dict[str, Callable[[S, int, Worker], tuple[str, S]]] = {
            "check": self.check,
            "key": self.key,
            "record": self.record,
            "create": self.create,
            "add": self.add,
            "raise": self.raise_epoch,
            "wake": self.wakes,
            "done": self.done,
            "stamp": self.stamp,
            "retire": self.ask_ledger,
            "look": self.ask_ledger,
            "confirm": self.ask_ledger,
            "tag": self.tag,
            "delete": self.delete,
            "forget": self.forget,
            "intent": self.intent if self.on("oneintent") else self.count,
        }

    def on(self, rule: str) -> bool:
        return rule not in self.off

    def used(self, s: S, slot: int) -> int:
        return sum(o.state == "holds" and o.slot == slot for o in s.owners)

    def free(self, s: S) -> int:
        return sum(self.capacity - self.used(s, lb.slot) for lb in s.inside if lb.state == "active")

    def lacking(self, s: S, *, net: bool = True) -> int:
        """Load balancers that the waiters need beyond what is there."""
        waiting = sum(o.state in ("waits", "woken", "gone on the list") for o in s.owners)
        return -(-max(0, waiting - (self.free(s) if net else 0)) // self.capacity)

    def slots(self, s: S, count: int, epoch: int) -> tuple[int, ...]:
        """Names that an intent may have, as far as the limits allow."""
        inside = {lb.slot for lb in s.inside}
        count = max(0, min(count, self.bounds.batch, self.bounds.most - len(inside)))
        if not self.on("slots"):
            return tuple(100 + 10 * epoch + n for n in range(count))
        return tuple(slot for slot in range(self.bounds.most) if slot not in inside)[:count]

    def judged(self, s: S, fresh: tuple[int, ...]) -> S:
        decided = {slot for w in s.workers if w and w.at in DECIDED for slot in w.intent.slots}
        pending = {slot for slot, _, _ in s.cloud} | set(fresh) | decided
        return s._replace(over=s.over or len(pending - {lb.slot for lb in s.inside}) > self.lacking(s))

    def wake(self, s: S) -> S:
        """The waiters that fit now become dirty."""
        owners, room = list(s.owners), self.free(s) - sum(o.state == "woken" for o in s.owners)
        for at, owner in enumerate(owners):
            if owner.state == "waits" and room > 0:
                owners[at], room = Owner("woken" if self.on("stays") else "dirty"), room - 1
        return s._replace(owners=tuple(owners))

    def ask(self, s: S) -> S:
        return s._replace(requests=tuple(sorted({*s.requests, s.epoch})))

    def start(self, s: S, worker: Worker) -> S:
        return put(s, s.workers.index(None), worker)

    def valid(self, s: S, worker: Worker) -> bool:
        return s.ready and (worker.current or not self.on("incarnation"))

    def act(self, s: S, at: int, worker: Worker) -> Iterator[Edge]:
        if worker.at == "wake" and not self.on("stays") and s.may("death") and self.wake(s) != s:
            pairs = zip(s.owners, self.wake(s).owners, strict=True)
            owners = tuple(Owner("idle") if o.state == "waits" and n.state == "dirty" else o for o, n in pairs)
            yield ENV, "takes waiters off the list and dies", put(s.less("death"), at, None)._replace(owners=owners)
        yield SYS, *self.acts[worker.at](s, at, worker)

    def check(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        return "looks at the epoch", put(s, at, w._replace(at="key" if w.epoch == s.epoch else "wake"))

    def key(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        if w.epoch in [key.epoch for key in s.keys]:
            return f"another has the key of epoch {w.epoch}", put(s, at, None)
        keys = tuple(sorted((*s.keys, Key(w.epoch, "held"))))
        return f"has the key of epoch {w.epoch}", put(s._replace(keys=keys), at, w._replace(at="intent"))

    def intent(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        if not self.valid(s, w):
            return "intent: refused", put(s, at, w._replace(at="done"))
        if s.intent != NO_INTENT:
            return f"finds {s.intent}", put(s, at, w._replace(at="create", intent=s.intent, done=0))
        net = self.on("netdemand")
        fresh = self.slots(s, self.lacking(s, net=net), w.epoch) if w.epoch == s.epoch else ()
        if not fresh:
            return "nothing to create", put(s, at, w._replace(at="wake"))
        made = Intent(w.epoch, fresh)
        s = self.judged(s, fresh)._replace(intent=made)
        return f"records {made}", put(s, at, w._replace(at="create", intent=made, done=0))

    def count(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        """Without one intent: it counts first, and records later."""
        outside = tuple(slot for slot, _, _ in s.cloud if slot not in [lb.slot for lb in s.inside])
        fresh = self.slots(s, self.lacking(s, net=self.on("netdemand")), w.epoch)
        slots = (*outside, *(slot for slot in fresh if slot not in outside))[: max(len(outside), len(fresh))]
        if not slots:
            return "nothing to create", put(s, at, w._replace(at="wake"))
        return f"counts {slots}", put(
            self.judged(s, slots), at, w._replace(at="record", intent=Intent(w.epoch, slots), done=0)
        )

    def record(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        return f"records {w.intent}", put(s._replace(intent=w.intent), at, w._replace(at="create"))

    def create(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        slot = w.intent.slots[w.done]
        if slot not in [there for there, _, _ in s.cloud]:
            used = {arn for _, arn, _ in s.cloud} | {lb.arn for lb in s.inside} | {o.arn for o in s.owners}
            used |= {other.arn for other in s.workers if other}
            s = s._replace(cloud=tuple(sorted((*s.cloud, (slot, min(set(range(1, 20)) - used), False)))))
        then = "create" if w.done + 1 < len(w.intent.slots) else "add"
        return f"creates {slot}", put(s, at, w._replace(at=then, done=w.done + 1))

    def add(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        if not self.valid(s, w) or (self.on("close") and s.intent != w.intent):
            return "the intent is not open any more", put(s, at, w._replace(at="wake"))
        known = [lb.slot for lb in s.inside]
        more = [
            LoadBalancer(slot, "retiring" if tagged and self.on("retiretag") else "active", arn)
            for slot, arn, tagged in s.cloud
            if slot in w.intent.slots and slot not in known
        ]
        s = s._replace(inside=tuple(sorted((*s.inside, *more))))
        if not self.on("close"):
            return f"adds {w.intent.slots}", put(s, at, w._replace(at="raise"))
        return f"adds {w.intent.slots}, closes", self.raise_epoch(s, at, w)[1]

    def raise_epoch(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        raised = s._replace(epoch=s.epoch + 1, intent=NO_INTENT)
        return f"raises the epoch to {raised.epoch}", put(raised, at, w._replace(at="wake"))

    def wakes(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        return "wakes who fits", put(self.wake(s) if s.ready else s, at, w._replace(at="done"))

    def done(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        mine = Key(w.epoch, "held")
        left = (Key(w.epoch, "left"),) if mine in s.keys and not self.on("keydel") else ()
        s = s._replace(keys=tuple(sorted((*(key for key in s.keys if key != mine), *left))))
        again = self.on("residual") and self.lacking(s) and self.slots(s, self.lacking(s), s.epoch)
        return "ends", put(self.ask(s) if again else s, at, None)

    def stamp(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        if not w.current or s.ready:
            return "may not stamp", put(s, at, None)
        inside = tuple(
            LoadBalancer(slot, "retiring" if tagged and self.on("retiretag") else "active", arn)
            for slot, arn, tagged in w.listing
        )
        owners = tuple(Owner("dirty") if o.state == "idle" and self.on("resync") else o for o in s.owners)
        epoch = s.epoch + 1 if self.on("freshepoch") else 0
        return "stamps", put(s._replace(ready=True, epoch=epoch, inside=inside, owners=owners), at, None)

    def ask_ledger(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        """Retire; without the fence only look; and confirm before the delete."""
        states = ("retiring",) if w.at == "confirm" else ("active", "retiring")
        there = any(LoadBalancer(w.slot, state, w.arn) in s.inside for state in states)
        if not self.valid(s, w) or not there or self.used(s, w.slot):
            return f"{w.at} {w.slot}: no", put(s, at, None)
        then = "tag" if w.at == "retire" and self.on("retiretag") else "delete"
        if w.at == "retire":
            inside = tuple(lb._replace(state="retiring") if lb.slot == w.slot else lb for lb in s.inside)
            s = s._replace(inside=inside)
        return f"{w.at} {w.slot}", put(s, at, w._replace(at=then))

    def tag(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        cloud = tuple((slot, arn, tagged or arn == w.arn) for slot, arn, tagged in s.cloud)
        return f"tags {w.slot}", put(s._replace(cloud=cloud), at, w._replace(at="confirm"))

    def delete(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        cloud = tuple(there for there in s.cloud if there[1] != w.arn)
        return f"deletes {w.slot}", put(s._replace(cloud=cloud), at, w._replace(at="forget"))

    def forget(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        if self.valid(s, w):
            s = s._replace(inside=tuple(lb for lb in s.inside if (lb.slot, lb.arn) != (w.slot, w.arn)))
        return f"forgets {w.slot}", put(s, at, Worker("done", current=w.current))
