"""Many pods fail to get a port at once: what that costs Redis, and how many load balancers come of it.

First one worker that reads hints only takes all pods; the pool is empty, so each of them fails, and the request to grow
waits in the other queue. Meanwhile the publisher is paused, so that every command Redis counts is a worker's. Then
a second worker carries out the request, and all pods are bound, on a cloud that answers at once.

`python -m tests.bench.mass_failure --pods 10000` does it for as many.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from redis import Redis

from berthmaster import routing
from berthmaster.redis.incarnation import connect
from compose.sandbox.workload import balancers_for
from events.workqueue import Workqueue
from tests.bench.crowd import Crowd
from tests.bench.measuring import Figure, Report, Tell, keep
from tests.bench.memory_stack import MemoryStack
from tests.support.waiting import eventually

NAME: Final = "mass_failure"
TRANSPORT: Final = frozenset({"brpop", "multi", "exec", "ping", "publish"})
"""Sent by Celery, with two more commands in each MULTI."""
OURS: Final = frozenset({"evalsha", "eval", "set", "xadd", "info", "hello", "client|setinfo"})
"""Sent by us; what else Redis counts was called inside of scripts or of a MULTI."""


def run(quick: bool, tell: Tell) -> Report:
    return fail(300 if quick else 1000, tell)


def fail(pods: int, tell: Tell) -> Report:
    with tempfile.TemporaryDirectory() as folder, MemoryStack(Path(folder), workers=2) as stack:
        first, second = stack.workers
        first.command = [routing.LATENCY if word.startswith(routing.LATENCY) else word for word in first.command]
        stack.start(lambda what: tell(f"started {what}"))
        eventually(lambda: stack.publishes() and stack.heartbeat(first.name).exists(), timeout=60)
        api, redis = stack.kube.api("bench"), connect(stack.redis.url)
        with Crowd(api) as crowd:
            create = {"maxLoadBalancers": balancers_for(pods) + 20, "maxPerRound": 100}
            crowd.pool(autoCreate={"enabled": True, "parameters": {"subnets": ["subnet-1"]}, **create})
            tell(f"{pods} pods are made")
            names = crowd.make(pods)
            failing = Failing(stack, redis, crowd, names)
            tell("all fail")
            failed = failing.run()
            tell("the pool grows, all are bound")
            started = time.monotonic()
            second.launch()
            crowd.wait_for("Bound", names, 60 + pods / 5, stack.check)
            seconds, ran = time.monotonic() - started, stack.pod_runs()
        found = {"pods": pods, **failed, "bind_seconds": seconds, "runs": ran, "cloud": stack.cloud_calls()}
        api.close()
        redis.close()
    return Report(NAME, figures(found), found)


class Failing:
    """The phase in which every pod fails."""

    def __init__(self, stack: MemoryStack, redis: Redis, crowd: Crowd, names: list[str]) -> None:
        self.stack, self.redis, self.crowd, self.names = stack, redis, crowd, names
        self.queue = Workqueue(redis, hint_queue=routing.LATENCY)

    def run(self) -> dict[str, Any]:
        """The commands that Redis counted, by name, and the seconds that it took."""
        worker, publisher = self.stack.workers[0], self.stack.publisher
        worker.pause()
        self.crowd.ask(self.names)
        eventually(lambda: self.queue.depth()["dirty"] >= len(self.names), timeout=120)
        publisher.pause()
        self.redis.config_resetstat()
        started = time.monotonic()
        worker.resume()
        eventually(self.all_wait, timeout=60 + len(self.names) / 10, every=0.2)
        seconds, commands = time.monotonic() - started, self.commands()
        publisher.resume()
        return {"fail_seconds": seconds, "commands": commands}

    def all_wait(self) -> bool:
        waiting: Any = self.redis.hlen("{pp:arena}demand")
        return bool(waiting == len(self.names) and not self.queue.depth()["dirty"])

    def commands(self) -> dict[str, int]:
        stats: Any = self.redis.info("commandstats")
        return {name.removeprefix("cmdstat_"): told["calls"] for name, told in stats.items()}


def figures(found: Mapping[str, Any]) -> tuple[Figure, ...]:
    pods, commands = found["pods"], Counter[str](found["commands"])
    ours = sum(commands[name] for name in OURS)
    celery = sum(commands[name] for name in TRANSPORT) + 2 * commands["multi"]
    made, needed = found["cloud"]["create_load_balancer"], balancers_for(pods)
    note = f"{found['fail_seconds']:.0f} s to fail, {found['bind_seconds']:.0f} s to grow and bind"
    refused = sum(number for name, number in found["runs"].items() if name.startswith("refused"))
    return (
        Figure("load balancers created / needed", made / needed, "x", at_most=1, note=f"{made} for {pods} pods"),
        Figure("Redis commands a failing pod", ours / pods, "", at_most=12, note="that we send; each a round trip"),
        Figure("Celery's own, a failing pod", celery / pods, "", note="to receive and acknowledge the message"),
        Figure("inside of scripts, a failing pod", (commands.total() - ours - celery) / pods, ""),
        Figure("runs a pod", (sum(found["runs"].values()) - refused) / pods, "", at_most=2, note=note),
        Figure("hints in vain, a pod", refused / pods, ""),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pods", type=int, default=1000)
    report = fail(parser.parse_args().pods, print)
    print(keep(report).read_text())


if __name__ == "__main__":
    main()
