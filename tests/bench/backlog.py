"""Pods, jobs and claims that all come at once: how long the pods take against AWS's rates, and whether anybody waits
behind them.

Real are all parts of the sandbox, with strict AWS at the rates that the fleet permits itself by default. Claims find a
warm pod each, and jobs an idle slot each, on pods that only the ledger has: what a claim or a job waits for here is a
worker.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from berthmaster.client import Fleet, Request
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.redis.incarnation import connect
from compose.sandbox.stack import Stack
from tests.bench.claims import WarmPool, whole
from tests.bench.convergence import burst
from tests.bench.crowd import Crowd
from tests.bench.jobs import POOL, add_pod
from tests.bench.measuring import Figure, Report, Tell, percentile
from tests.support.waiting import eventually
from workers.stores.slots.preload import preload

NAME: Final = "backlog"
LONGEST: Final = 900.0
JOB: Final = "bench.job"
Json = dict[str, Any]


def run(quick: bool, tell: Tell) -> Report:
    pods, jobs, claims = (150, 30, 20) if quick else (1500, 300, 200)
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder), flower=False) as stack:
        stack.start(lambda what: tell(f"started {what}"))
        stack.complete()
        eventually(stack.working, timeout=60)
        api, network = stack.kube.api("bench"), stack.remote_aws.network()
        with Crowd(api) as crowd, WarmPool(api, "warm", claims, claims) as warm:
            create = {"enabled": True, "maxLoadBalancers": 40, "parameters": {"subnets": list(network.subnets)}}
            crowd.pool(vpcId=network.vpc, autoCreate=create)
            names = crowd.make(pods)
            slots = Slots(stack, jobs)
            eventually(lambda: whole(stack) and warm.idle() >= claims, timeout=LONGEST, every=0.5)
            tell(f"{pods} pods, {jobs} jobs and {claims} claims come at once")
            with ThreadPoolExecutor(2) as others:
                claiming = others.submit(warm.claim, [f"c{n}" for n in range(claims)], None, stack, LONGEST)
                submitting = others.submit(slots.submit, jobs)
                bound = burst(
                    stack,
                    lambda: crowd.ask(names),
                    lambda: crowd.wait_for("Bound", names, LONGEST, stack.check),
                )
                claimed, placed = claiming.result(), submitting.result()
            slots.close()
        api.close()
    found = {"pods": bound, "claims": claimed["latencies"], "jobs": placed, "count": pods}
    return Report(NAME, figures(found), found)


class Slots:
    """A pool of so many idle slots, on pods that only the ledger has."""

    def __init__(self, stack: Stack, slots: int) -> None:
        self.redis = connect(stack.redis.url)
        self.ledger = SlotLedger(self.redis, load_scripts(self.redis), POOL)
        self.ledger.begin([])
        assert not preload(self.ledger)  # no run of a pool does it here
        for n in range(slots):
            add_pod(self.ledger, f"p{n}", ("*",))
        self.fleet = Fleet(stack.redis.url)

    def submit(self, count: int) -> list[float]:
        """Milliseconds from each submission until the job is placed."""
        asked, placed = dict[str, float](), dict[str, float]()
        for name in (f"j{n}" for n in range(count)):
            asked[name] = time.monotonic()
            self.fleet.submit(Request(name, POOL, JOB))
        ends = time.monotonic() + LONGEST
        while len(placed) < count and time.monotonic() < ends:
            for name in asked.keys() - placed.keys():
                record = self.ledger.record(name)
                if record and record.state != "waiting":
                    placed[name] = time.monotonic()
            time.sleep(0.02)
        return [(placed[name] - asked[name]) * 1000 for name in asked]

    def close(self) -> None:
        self.fleet.close()
        self.redis.close()


def figures(found: Json) -> tuple[Figure, ...]:
    pods, claims, jobs = found["pods"], found["claims"], found["jobs"]
    note, ratio = f"{pods['seconds']:.1f} s for {found['count']} pods", pods["seconds"] / pods["permitted"]
    return (
        Figure("time to bind / time that AWS's rates ask for", ratio, "x", at_most=1.05, note=note),
        Figure("first claim -> Bound", min(claims), "ms", at_most=1000),
        Figure("claim -> Bound, p50", percentile(claims, 0.5), "ms"),
        Figure("claim -> Bound, last", max(claims), "ms", note=f"of {len(claims)}"),
        Figure("job: submit -> placed, p50", percentile(jobs, 0.5), "ms"),
        Figure("job: submit -> placed, last", max(jobs), "ms", note=f"of {len(jobs)}"),
    )
