"""The workers' side of claims in a thread: does what services ask for by tasks, and runs each claim again and again."""

from __future__ import annotations

import time
from base64 import b64decode
from collections import Counter
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

import orjson

from berthmaster import routing
from berthmaster.broker.sending import Sender
from berthmaster.claims.request import CreateClaim, ReleaseClaim, RenewClaim
from berthmaster.routing import pod_claim_key
from events.workqueue import Snapshot
from events.workqueue.entries import as_mark
from tests.support.claims.claim_world import ClaimWorld
from workers.claims.requests import ClaimRequests
from workers.kube.our_kinds import as_snapshot
from workers.tasks.payloads import read


class ClaimDesk:
    """`lose`: how many messages of a task are still to be lost; `taken`: how many were carried out.

    Hold `lock` to touch the world. `publishes`: it is the publisher of claims too.
    """

    def __init__(self, world: ClaimWorld, *, publishes: bool = False) -> None:
        self.world, self.lock, self._publishes = world, Lock(), publishes
        self._published = dict[str, Snapshot]()
        self.requests = ClaimRequests(world.services.claims, world.services.answers)
        self.lose, self.taken = Counter[str](), Counter[str]()
        self.errors: list[Exception] = []
        self._over, self._thread = Event(), Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        assert self.errors == []

    def _serve(self) -> None:
        while not self._over.is_set():
            with self.lock:
                try:
                    self.take_all()
                    self.run_all()
                    if self._publishes:
                        self.publish_all()
                except Exception as error:  # noqa: BLE001 - the thread of the test raises it
                    self.errors.append(error)
                    return
            time.sleep(0.02)

    def take_all(self) -> None:
        """Carry out each message that is there."""
        while message := self.world.redis.rpop(routing.JOBS):
            self._take(orjson.loads(message))  # type: ignore[arg-type]  # bytes

    def run_all(self) -> None:
        """Run every claim once."""
        for claim in self.world.claims():
            self.world.run(claim.name)

    def publish_all(self) -> None:
        """Store every claim as it is now, and that those are gone that were there before."""
        before = self._published
        self._published = {claim.name: as_snapshot(claim) for claim in self.world.claims()}
        gone = {
            name: last._replace(version=last.version + 1, gone=True)
            for name, last in before.items()
            if name not in self._published
        }
        marks = [
            as_mark(pod_claim_key(self.world.namespace, name), snapshot)
            for name, snapshot in (self._published | gone).items()
        ]
        assert not marks or self.world.queue.marks("1:test", marks)

    def _take(self, message: Any) -> None:
        task, body = message["headers"]["task"], orjson.loads(b64decode(message["body"]))
        if self.lose[task] > 0:
            self.lose[task] -= 1
        else:
            self.carry_out(task, tuple(body[0]))

    def carry_out(self, task: str, args: tuple[Any, ...]) -> None:
        """Do what a task asks for."""
        self.taken[task] += 1
        if task == routing.CLAIMS_CREATE:
            self.requests.create(read(CreateClaim, args, {}).claim)
        elif task == routing.CLAIMS_RENEW:
            renewed = read(RenewClaim, args, {})
            namespace, name = renewed.claim.split("/")
            self.requests.renew(namespace, name, renewed.renewal)
        else:
            released = read(ReleaseClaim, args, {})
            namespace, name = released.claim.split("/")
            self.requests.release(namespace, name, released.call)


class AtOnce(Sender):
    """Has each task carried out, and every claim run, before the sender goes on."""

    def __init__(self, desk: ClaimDesk) -> None:
        self._desk = desk

    def send(self, task: str, *args: object) -> bool:
        self._desk.carry_out(task, orjson.loads(orjson.dumps(args)))
        self._desk.run_all()
        return True
