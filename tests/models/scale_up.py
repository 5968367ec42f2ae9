"""Scale-up on a failed allocation, removal of empty load balancers, and both across a loss of Redis.

Owners that each want one port, load balancers of `capacity` ports, two workers, a sweep; the workers' steps are in
scale_up_run.py. One step is one script or one call. A worker dies at any step, the key of a winner expires while it is
only slow, a message is lost, an owner goes away, an empty load balancer is picked for removal, Redis is flushed.
Creating a load balancer whose name exists returns the existing one; one is deleted by its ARN, with what it carries.

Shows: never more load balancers than `most`, none that the demand of its round does not need, none deleted that carries
a bound owner; and when nothing more happens no waiter fits a free port or a load balancer that may be created, and none
is outside the ledger. Not needed singly within these bounds: rules `close`, `incarnation`, `freshepoch`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.models.explore import ENV, SYS, Result, explore
from tests.models.scale_up_run import Edge, Pool
from tests.models.scale_up_states import NO_INTENT, Bounds, Intent, Key, LoadBalancer, Owner, S, Worker, put

TOO_MANY = "no more load balancers than allowed"
NOT_NEEDED = "none is created that the demand does not need"
DELETED = "no load balancer of a bound owner is deleted"
LOST = {"waits": "idle", "woken": "dirty", "gone on the list": "gone"}


class ScaleUp(Pool):
    def init(self) -> S:
        b = self.bounds
        inside = tuple(LoadBalancer(slot, "active", slot + 1) for slot in range(b.existing))
        cloud = tuple((slot, slot + 1, False) for slot in range(b.existing))
        left = (b.deaths, b.slow, b.messages, b.leaves, b.removals, b.losses)
        return S((Owner("dirty"),) * b.owners, inside, cloud, left=left)

    def step(self, s: S) -> Iterator[Edge]:
        """Owners are alike and workers are alike: they are kept in order."""
        for kind, label, after in self.edges(s):
            workers = tuple(sorted(after.workers, key=lambda w: w or ()))
            yield kind, label, after._replace(owners=tuple(sorted(after.owners)), workers=workers)

    def edges(self, s: S) -> Iterator[Edge]:
        for at, owner in enumerate(s.owners):
            yield from self.owner(s, at, owner)
        yield from self.requests(s)
        yield from self.keys(s)
        if s.ready and self.bounds.sweeps:
            yield from self.sweep(s)
        if not s.ready and None in s.workers and not any(w and w.at == "stamp" for w in s.workers):
            yield SYS, "a rebuild lists AWS", self.start(s, Worker("stamp", listing=s.cloud))
        if s.may("loss"):
            yield ENV, "Redis is flushed", self.flushed(s)
        for at, worker in enumerate(s.workers):
            if worker and s.may("death"):
                dead = [k._replace(state="dead") if self.holds(worker, k) else k for k in s.keys]
                died = put(s.less("death"), at, None)._replace(keys=tuple(dead))
                yield ENV, f"the worker dies before {worker.at}", died
            if worker:
                yield from self.act(s, at, worker)

    def holds(self, worker: Worker, key: Key) -> bool:
        return key.state == "held" and worker.at != "stamp" and key.epoch == worker.epoch

    def flushed(self, s: S) -> S:
        owners = tuple(Owner(LOST[o.state]) if o.state in LOST else o for o in s.owners)
        workers = tuple(w and w._replace(current=False) for w in s.workers)
        lost = s.less("loss")._replace(owners=owners, workers=workers)
        return lost._replace(inside=(), intent=NO_INTENT, keys=(), ready=False)

    def requests(self, s: S) -> Iterator[Edge]:
        for epoch in s.requests:
            left = s._replace(requests=tuple(other for other in s.requests if other != epoch))
            if s.may("message"):
                yield ENV, f"the request of epoch {epoch} is lost", left.less("message")
            if None in s.workers:
                begins = Worker("key" if self.on("oneintent") else "check", epoch)
                yield SYS, f"a worker takes the request of epoch {epoch}", self.start(left, begins)

    def keys(self, s: S) -> Iterator[Edge]:
        for key in s.keys:
            gone = s._replace(keys=tuple(other for other in s.keys if other != key))
            if key.state == "dead":
                yield SYS, f"the key of epoch {key.epoch} expires, its winner is dead", gone
            elif key.state == "held" and s.may("slow"):
                yield ENV, f"the key of epoch {key.epoch} expires, its winner is slow", gone.less("slow")

    def owner(self, s: S, at: int, owner: Owner) -> Iterator[Edge]:
        def to(new: Owner) -> S:
            return s._replace(owners=(*s.owners[:at], new, *s.owners[at + 1 :]))

        if owner.state in ("dirty", "woken") and s.ready:
            room = next((lb for lb in s.inside if lb.state == "active" and self.used(s, lb.slot) < self.capacity), None)
            if room:
                yield SYS, f"an owner gets a port on {room.slot}", to(Owner("holds", room.slot, room.arn))
            else:
                yield SYS, f"an owner waits, and asks at epoch {s.epoch}", self.ask(to(Owner("waits")))
        if owner.state == "gone on the list" and self.on("unwait") and s.ready:
            off = to(Owner("gone"))
            yield SYS, "the run of a gone owner leaves the list", self.wake(off) if self.on("passon") else off
        if s.may("leave") and owner.state in ("waits", "woken", "holds"):
            held = owner.state == "holds"
            gone = to(Owner("gone" if held else "gone on the list")).less("leave")
            yield ENV, f"an owner goes away that {owner.state}", self.wake(gone) if held else gone
            if held and s.may("message"):
                yield ENV, "an owner goes away, the wake-up is lost", gone.less("message")

    def sweep(self, s: S) -> Iterator[Edge]:
        if self.on("sweepwakes") and self.wake(s) != s:
            yield SYS, "the sweep wakes who fits", self.wake(s)
        short = self.lacking(s, net=self.on("sweepwakes"))
        wanted = s.intent != NO_INTENT or (short and self.slots(s, short, s.epoch))
        if wanted and s.epoch not in s.requests and s.epoch not in [key.epoch for key in s.keys]:
            yield SYS, "the sweep asks for load balancers", self.ask(s)
        for lb in s.inside:
            yield from self.sweep_removal(s, lb)
        for slot, _, _ in s.cloud:
            if self.on("adopt") and slot not in [lb.slot for lb in s.inside] and s.intent == NO_INTENT:
                yield SYS, f"the sweep adopts {slot}", self.ask(s._replace(intent=Intent(s.epoch, (slot,))))

    def sweep_removal(self, s: S, lb: LoadBalancer) -> Iterator[Edge]:
        removes = ("retire", "look", "tag", "confirm", "delete", "forget")
        busy = [w.slot for w in s.workers if w and w.at in removes]
        empty = not self.used(s, lb.slot) and None in s.workers
        if s.may("removal") and lb.state == "active" and empty:
            begins = Worker("retire" if self.on("fence") else "look", slot=lb.slot, arn=lb.arn)
            yield ENV, f"removal of empty {lb.slot} begins", self.start(s.less("removal"), begins)
        if lb.state == "retiring" and empty and lb.slot not in busy:
            again = Worker("tag" if self.on("retiretag") else "confirm", slot=lb.slot, arn=lb.arn)
            yield SYS, f"removal of retiring {lb.slot} goes on", self.start(s, again)
        if lb.state == "active" and (lb.slot, lb.arn, True) in s.cloud and self.on("retiretag"):
            tagged = tuple(o._replace(state="retiring") if o == lb else o for o in s.inside)
            yield SYS, f"the sweep sees the tag of {lb.slot}", s._replace(inside=tagged)

    def kept(self, s: S) -> bool:
        there = [(slot, arn) for slot, arn, _ in s.cloud]
        return all((o.slot, o.arn) in there for o in s.owners if o.state == "holds")

    def settled(self, s: S) -> bool:
        busy = any(s.workers) or s.requests or not s.ready or s.intent != NO_INTENT
        if busy or any(o.state in ("dirty", "woken", "gone on the list", "idle") for o in s.owners):
            return False
        waits = any(o.state == "waits" for o in s.owners)
        could = self.free(s) or self.slots(s, 1, s.epoch)
        return not (waits and could) and {(b.slot, b.arn) for b in s.inside} == {(k, arn) for k, arn, _ in s.cloud}


def check(bounds: Bounds, *off: str) -> Result:
    """Explore scale-up and removal without the rules that are `off`."""
    model = ScaleUp(off, bounds)
    steady = not bounds.removals and not bounds.losses
    rules = {
        TOO_MANY: lambda s: len(s.cloud) <= bounds.most,
        NOT_NEEDED: lambda s: not (s.over and steady),
        DELETED: model.kept,
    }
    return explore(model.init(), model.step, rules, model.settled)
