"""A pool with an unused load balancer, and the run of the pool that removes it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.ledger_recount import grow_old
from workers.cloud.driver import LoadBalancer
from workers.kube.port_pools import PATH

DELAY = timedelta(minutes=10)


def there(fleet: Fleet) -> list[LoadBalancer]:
    return fleet.driver.find_owned_load_balancers(fleet.cluster)


def states(fleet: Fleet) -> dict[str, str]:
    rows = fleet.api.get(f"{PATH}/arena")["status"]["loadBalancers"]
    return {row["name"]: row["state"] for row in rows}


def events(fleet: Fleet, reason: str) -> list[str]:
    listed = fleet.api.list("/api/v1/namespaces/default/events")["items"]
    return [e["message"] for e in listed if e["reason"] == reason]


def one_idle(fleet: Fleet, **changes: Any) -> LoadBalancer:
    """A pool whose one load balancer has been empty for long enough to be removed."""
    fleet.pool("arena", endPort=30004, **changes)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    return there(fleet)[0]


def look(fleet: Fleet, driver: Any = None) -> None:
    """Run the pool as the sweep does, when no wait delays the removal any more."""
    fleet.sync()
    fleet.redis.delete(*fleet.redis.keys("{pp:arena}put-off:*") or ["none"])
    fleet.queue.touch(["portpool/arena"])
    fleet.run("portpool/arena", fleet.other(driver=lambda _: driver) if driver else None)


def listen(aws: Aws, lb: LoadBalancer, port: int = 80) -> str:
    """Create a listener that is not ours."""
    client = aws.client()
    made = client.create_target_group(Name=f"t-{port}", Protocol="TCP", Port=1, VpcId=aws.ids.vpc, TargetType="ip")
    actions: Any = [{"Type": "forward", "TargetGroupArn": made["TargetGroups"][0]["TargetGroupArn"]}]
    listener = client.create_listener(LoadBalancerArn=lb.arn, Port=port, Protocol="TCP", DefaultActions=actions)
    return listener["Listeners"][0]["ListenerArn"]
