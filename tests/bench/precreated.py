"""The same burst of pods as `convergence`, against listeners that exist already: one register binds a pod, one
deregister takes it out, so that the rate of these two is all that AWS limits.

The filling of the load balancers before it is shown as well: it is paid once, not by a pod.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from compose.sandbox.aws.remote import Network
from compose.sandbox.stack import Stack
from domain.port_pools.providers import MOST_LISTENERS
from tests.bench.convergence import burst, counts, each
from tests.bench.crowd import POOL, POOLS, Crowd
from tests.bench.measuring import Figure, Report, Tell
from tests.fixtures.aws import CREDENTIALS
from tests.support.waiting import eventually
from workers.cloud.aws.session import elbv2
from workers.cloud.aws.settings import AwsSettings

NAME: Final = "precreated"
WRITES: Final = ("CreateTargetGroup", "CreateListener", "RegisterTargets", "DeregisterTargets", "DeleteListener",
                 "DeleteTargetGroup", "AddTags", "RemoveTags", "ModifyListener", "ModifyTargetGroup")  # fmt: skip


def run(quick: bool, tell: Tell) -> Report:
    count, released = (50, 20) if quick else (150, 60)
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder), flower=False) as stack:
        stack.start(lambda what: tell(f"started {what}"))
        stack.complete()
        eventually(stack.working, timeout=60)
        api, network = stack.kube.api("bench"), stack.remote_aws.network()
        with Crowd(api) as crowd:
            filled = burst(stack, lambda: fill(crowd, stack, network, count), lambda: await_stock(crowd, count))
            tell(f"{count} listeners made in {filled['seconds']:.0f} s")
            names = crowd.make(count)
            bound = burst(stack, lambda: crowd.ask(names), lambda: crowd.wait_for("Bound", names, 300, stack.check))
            tell(f"{released} of them end")
            taken_out = counts(stack)["DeregisterTargets"] + released
            gone = burst(stack, lambda: crowd.end(names[:released]), lambda: await_out(stack, taken_out))
        api.close()
    found = {"fill": filled, "bind": bound, "release": gone, "pods": count, "released": released}
    return Report(NAME, figures(found), found)


def fill(crowd: Crowd, stack: Stack, network: Network, count: int) -> None:
    """A pool on existing load balancers, each full of UDP listeners."""
    os.environ.update(CREDENTIALS)
    client = elbv2(AwsSettings(endpoint_url=stack.aws_url), "us-east-1")
    made = [
        client.create_load_balancer(Name=f"own-{n}", Type="network", Subnets=list(network.subnets))
        for n in range(-(-count // MOST_LISTENERS))
    ]
    arns = [each["LoadBalancers"][0]["LoadBalancerArn"] for each in made]
    crowd.pool(vpcId=network.vpc, loadBalancers=arns, precreate={"udp": MOST_LISTENERS})


def await_stock(crowd: Crowd, count: int) -> None:
    def filled() -> bool:
        status = crowd.api.get(f"{POOLS}/{POOL}").get("status", {})
        return int(status.get("capacity") or 0) >= count

    eventually(filled, timeout=300, every=0.2)


def await_out(stack: Stack, targets: int) -> None:
    eventually(lambda: counts(stack)["DeregisterTargets"] >= targets, timeout=200, every=0.05)


def figures(found: Mapping[str, Any]) -> tuple[Figure, ...]:
    bind, release, pods = found["bind"], found["release"], found["pods"]
    note = f"{bind['seconds']:.1f} s of {bind['permitted']:.1f} s for {pods} pods"
    described = sum(number for action, number in bind["calls"].items() if action.startswith("Describe"))
    return (
        Figure(
            "time to bind / time that the rates ask for", bind["seconds"] / bind["permitted"], "x", None, 1.10, note
        ),
        Figure("AWS writes a bind", each(bind, WRITES, pods), "", at_most=1),
        Figure("AWS writes a release", each(release, WRITES, found["released"]), "", at_most=1),
        Figure("describing calls while all are bound", described, "", note="of sweeps and audits; none of a bind"),
        Figure("writes a listener before", each(found["fill"], WRITES, pods), "", note="paid once"),
        Figure("calls that AWS refused", bind["refused"] + release["refused"] + found["fill"]["refused"], ""),
    )
