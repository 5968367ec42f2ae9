"""The time in which a burst of pods is bound, against the time in which AWS permits the calls that this needs.

Real are all parts of the sandbox: strict AWS with its throttle on, at the rates that the fleet permits itself by
default. The pool begins without a load balancer, so that growing is part of it. The permitted time is that of the API
class that takes longest: what its calls exceed the burst by, divided by its rate.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from compose.sandbox.aws.throttle import class_of
from compose.sandbox.stack import Stack
from tests.bench.crowd import Crowd
from tests.bench.measuring import Figure, Report, Tell
from tests.support.waiting import eventually
from workers.cloud.aws.settings import RatesSettings
from workers.cloud.call_budget import ApiClass

NAME: Final = "convergence"
BINDS: Final = ("CreateTargetGroup", "CreateListener", "RegisterTargets")
RELEASES: Final = ("DeleteListener", "DeleteTargetGroup", "DeregisterTargets")


def run(quick: bool, tell: Tell) -> Report:
    count, released = (60, 20) if quick else (200, 60)
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder), flower=False) as stack:
        stack.start(lambda what: tell(f"started {what}"))
        stack.complete()
        eventually(stack.working, timeout=60)
        api, network = stack.kube.api("bench"), stack.remote_aws.network()
        with Crowd(api) as crowd:
            create = {"enabled": True, "maxLoadBalancers": 20, "parameters": {"subnets": list(network.subnets)}}
            crowd.pool(vpcId=network.vpc, autoCreate=create)
            names = crowd.make(count)
            tell(f"{count} pods ask")
            bound = burst(stack, lambda: crowd.ask(names), lambda: crowd.wait_for("Bound", names, 300, stack.check))
            tell(f"{released} of them end")
            deleted = counts(stack)["DeleteTargetGroup"] + released
            gone = burst(stack, lambda: crowd.end(names[:released]), lambda: await_deleted(stack, deleted))
        api.close()
    found = {"bind": bound, "release": gone, "pods": count, "released": released}
    return Report(NAME, figures(found), found)


def burst(stack: Stack, begin: Any, await_end: Any) -> dict[str, Any]:
    """Seconds from the beginning to the end, the AWS calls in between, and the seconds that their rates ask for."""
    stack.check()
    before, refused_before, started = counts(stack), sum(stack.remote_aws.refusals().values()), time.monotonic()
    begin()
    await_end()
    seconds = time.monotonic() - started
    calls = counts(stack) - before
    refused = sum(stack.remote_aws.refusals().values()) - refused_before
    return {"seconds": seconds, "calls": dict(calls), "refused": refused, "permitted": permitted(calls)}


def counts(stack: Stack) -> Counter[str]:
    return Counter(stack.remote_aws.counts())


def permitted(calls: Mapping[str, int]) -> float:
    """Seconds, from full buckets."""
    rates, by_class = RatesSettings(), Counter[str]()
    for action, number in calls.items():
        by_class[class_of(action)] += number
    each = [(number, rates.of(ApiClass(kind))) for kind, number in by_class.items()]
    return max(0.0, *((number - rate.burst) / rate.per_second for number, rate in each))


def await_deleted(stack: Stack, groups: int) -> None:
    """As many target groups as that: their deletion is the last call of a release."""
    eventually(lambda: counts(stack)["DeleteTargetGroup"] >= groups, timeout=200, every=0.05)


def figures(found: Mapping[str, Any]) -> tuple[Figure, ...]:
    bind, release, pods = found["bind"], found["release"], found["pods"]
    ratio = bind["seconds"] / bind["permitted"]
    note = f"{bind['seconds']:.1f} s of {bind['permitted']:.1f} s for {pods} pods"
    described = sum(number for action, number in bind["calls"].items() if action.startswith("Describe"))
    return (
        Figure("time to bind / time that the rates ask for", ratio, "x", at_most=1.10, note=note),
        Figure("AWS calls a bind", each(bind, BINDS, pods), "", at_most=3),
        Figure("AWS calls a release", each(release, RELEASES, found["released"]), "", at_most=3),
        Figure("describing calls in all", described, "", note="of growing the pool; none of a bind"),
        Figure("calls that AWS refused", bind["refused"] + release["refused"], ""),
    )


def each(done: Mapping[str, Any], actions: tuple[str, ...], pods: int) -> float:
    return float(sum(done["calls"].get(action, 0) for action in actions)) / pods
