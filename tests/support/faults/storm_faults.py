"""What goes wrong in a storm: processes die or hang, Redis forgets or remembers the wrong thing, AWS and Kubernetes
refuse, lose answers and dawdle, and load balancers are blocked for a while.

Everything that is done is undone a little later, by `due`, or at once by `calm`.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from redis import Redis, RedisError

from compose.sandbox.daemon import Daemon
from compose.sandbox.kube.small import SmallKube
from compose.sandbox.workload import POOL, PORTPOOLS
from tests.support.faults.redis_restart import await_loaded, restart
from tests.support.servers.whole import Whole

WRITES: Final = ("CreateLoadBalancer", "CreateTargetGroup", "CreateListener", "RegisterTargets", "DeregisterTargets",
                 "DeleteListener", "DeleteTargetGroup", "AddTags")  # fmt: skip
READS: Final = ("DescribeListeners", "DescribeTargetGroups", "DescribeTags", "DescribeLoadBalancers")
ORDERS: Final = (
    {"code": "Throttling"},
    {"code": "InternalFailure", "status": 500},
    {"code": "AccessDenied", "status": 403},
    {"lose": "error"},
    {"lose": "cut"},
    {"delay": 2.0},
    {"delay": 6.5},  # above the read time-out: carried out, and never answered in time
)
TIGHT: Final = {kind: {"per_second": 4, "burst": 8} for kind in ("register", "modify", "write", "describe")}
OURS: Final = ("berthmaster", "berthmaster-publisher")
LONGER_THAN_A_LEASE: Final = 11.0
TROUBLES_OF_KUBE: Final[tuple[dict[str, object], ...]] = (
    {"kind": "error", "status": 500},
    {"kind": "error", "status": 429},
    {"kind": "conflict", "verbs": ["patch", "update"]},
    {"kind": "drop"},
    {"kind": "lose"},
    {"kind": "slow", "seconds": 3.0},
    {"kind": "expire"},
    {"kind": "swallow"},
    {"kind": "repeat"},
    {"kind": "stall"},
    {"kind": "cut"},
)


class Faults:
    """Of one running system."""

    def __init__(self, system: Whole, chance: Random, directory: Path) -> None:
        self.system, self.stack, self.chance, self.copy = system, system.stack, chance, directory / "old-copy"
        self.later: list[tuple[float, Callable[[], object]]] = []

    def undo(self, seconds: float, action: Callable[[], object]) -> None:
        self.later.append((time.monotonic() + seconds, action))

    def due(self) -> None:
        now = time.monotonic()
        ripe = [action for when, action in self.later if when <= now]
        self.later = [(when, action) for when, action in self.later if when > now]
        for action in ripe:
            action()

    def calm(self) -> None:
        """All troubles are over, every process runs."""
        for _, action in self.later:
            action()
        self.later = []
        self.system.aws.heal()
        if isinstance(self.stack.kube, SmallKube):
            self.stack.kube.heal()

    # ---- processes

    def kill_worker(self) -> None:
        self._kill(self.chance.choice(self.stack.workers))

    def kill_workers(self) -> None:
        for worker in self.stack.workers:
            self._kill(worker)

    def kill_publisher(self) -> None:
        self._kill(self.stack.publisher)

    def kill_beat(self) -> None:
        self._kill(self.stack.beat)

    def _kill(self, daemon: Daemon) -> None:
        if daemon.running():
            daemon.kill()
            self.undo(self.chance.choice([0.0, 1.0, 4.0]), daemon.launch)

    def pause_worker(self) -> None:
        """It goes on with what it holds when its lease is over: a stale holder."""
        self._pause(self.chance.choice(self.stack.workers))

    def pause_publisher(self) -> None:
        self._pause(self.stack.publisher)

    def _pause(self, daemon: Daemon) -> None:
        if daemon.running():
            daemon.pause()
            self.undo(self.chance.choice([1.0, LONGER_THAN_A_LEASE]), daemon.resume)

    # ---- Redis

    def restart_redis(self) -> None:
        restart(self.stack.redis)

    def flush_redis(self) -> None:
        with contextlib.suppress(RedisError), Redis.from_url(self.stack.redis.url) as redis:
            redis.flushall()

    def copy_redis(self) -> None:
        """What `old_redis` brings back: a snapshot, or a replica that has missed the rest."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self._data, self.copy)

    def old_redis(self) -> None:
        if self.copy.exists():
            self.stack.redis.kill()
            shutil.rmtree(self._data)
            shutil.copytree(self.copy, self._data)
            self.stack.redis.start()
            await_loaded(self.stack.redis)

    @property
    def _data(self) -> Path:
        return self.stack.redis.directory / "appendonlydir"

    # ---- AWS and Kubernetes

    def trouble_writes(self) -> None:
        self._trouble(WRITES)

    def trouble_reads(self) -> None:
        self._trouble(READS)

    def _trouble(self, actions: tuple[str, ...]) -> None:
        order = {**self.chance.choice(ORDERS), "times": self.chance.randint(1, 6)}
        self.system.aws.fault(self.chance.choice(actions), **order)

    def throttle(self) -> None:
        self.system.aws.change(throttle=True, buckets=TIGHT)
        self.undo(6.0, lambda: self.system.aws.change(throttle=False))

    def trouble_kube(self) -> None:
        """The real server knows one trouble only: it forgets."""
        kube = self.stack.kube
        if isinstance(kube, SmallKube):
            order = dict(self.chance.choice(TROUBLES_OF_KUBE))
            kube.fault(str(order.pop("kind")), **order, clients=OURS, times=self.chance.randint(1, 4))
        else:
            kube.compact()

    # ---- people

    def block(self) -> None:
        """One of the pool's load balancers gives no ports for a while."""
        names = [lb.name for lb in self.system.aws.driver().find_owned_load_balancers(self.system.cluster, POOL)]
        self._block(self.chance.sample(names, min(1, len(names))))
        self.undo(5.0, lambda: self._block([]))

    def _block(self, names: list[str]) -> None:
        self.system.api.patch(f"{PORTPOOLS}/{POOL}", {"spec": {"lbBlocklist": names}})
