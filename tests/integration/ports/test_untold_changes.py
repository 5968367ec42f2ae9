"""A change that the publisher has not told of: late, or swallowed by the stream. Who meets it looks for itself."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from berthmaster.routing import pod_key
from domain.outcome import Settled
from events.protocol.schemas import pod_snapshot
from events.workqueue import Mark
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import EPOCH, Fleet
from tests.support.ports.pool_edits import edit
from tests.support.ports.world_checks import check_all
from workers.kube.port_pools import PATH


@pytest.fixture
def asking(fleet: Fleet) -> Fleet:
    """A pod whose request the workers know, and whose pool is ready."""
    fleet.pool("arena")
    fleet.pod("first", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.2")
    fleet.sync()
    return fleet


def container_ports(fleet: Fleet, name: str) -> list[int]:
    return [row["containerPort"] for row in fleet.shown(name)[1]]


@pytest.mark.row("EV-03", "BD-12")
def test_a_pod_whose_change_was_never_told_is_served_as_it_is_now(asking: Fleet, aws: Aws) -> None:
    """Rule reread."""
    asking.annotate("a", ports="7778/TCP@arena")
    assert isinstance(asking.run_pod("a"), Settled)
    assert (asking.state("a"), container_ports(asking, "a")) == ("Bound", [7778])
    asking.settle()
    assert container_ports(asking, "a") == [7778]
    check_all(asking, aws)


@pytest.mark.row("EV-03", "FZ-08")
def test_a_pod_whose_end_was_never_told_leaves_nothing(asking: Fleet, aws: Aws) -> None:
    asking.delete("a")
    asking.run_pod("a")
    assert set(asking.owners("arena")) == {f"{asking.namespace}/first"}
    check_all(asking, aws)


@pytest.mark.row("EV-03", "AL-09")
def test_another_pod_of_the_name_gets_a_port_of_its_own(asking: Fleet, aws: Aws) -> None:
    asking.delete("a")
    asking.pod("a", "7779/TCP@arena", ip="10.0.0.3")
    asking.run_pod("a")
    asking.due()
    asking.run_pod("a")
    assert (asking.state("a"), container_ports(asking, "a")) == ("Bound", [7779])
    asking.settle()
    check_all(asking, aws)


@pytest.mark.row("EV-03", "EV-04")
def test_a_pod_that_the_publisher_does_not_follow_gets_no_port_when_its_pool_changes(asking: Fleet) -> None:
    """It would keep it after its end, of which nobody would tell."""
    asking.run_pod("a")
    asking.pod("unselected", "7777/UDP@arena", ip="10.0.0.3")
    edit(asking, lbPolicy="Uniform")
    asking.queue.touch(["portpool/arena"])
    asking.run("portpool/arena")
    asking.drain()
    assert (asking.state("a"), asking.state("unselected")) == ("Bound", "")


@pytest.mark.row("EV-03", "EV-04")
def test_what_such_a_run_wrote_does_not_hide_that_the_pod_has_left(asking: Fleet, aws: Aws) -> None:
    """Rule ownread.

    A pod that lost the label that the publisher selects by: the run cannot know, the publisher says so later.
    """
    left = asking.annotate("a", ports="7778/TCP@arena")
    asking.run_pod("a")
    assert asking.state("a") == "Bound"
    key, meta = pod_key(asking.namespace, "a"), left["metadata"]
    gone = Mark(key, int(meta["resourceVersion"]), meta["uid"], gone=True, body=b"{}")
    assert asking.queue.marks(EPOCH, [gone]) == [1]
    asking.run_pod("a")
    assert set(asking.owners("arena")) == {f"{asking.namespace}/first"}
    assert asking.shown("a") == ("", [], "")  # another may get its port now


@pytest.mark.row("EV-03", "EV-04", "EV-10")
def test_nor_does_what_a_run_wrote_that_knew_nothing_of_the_pod(asking: Fleet) -> None:
    """Redis was lost, and the publisher tells of the pod while the run that had to look for itself writes."""
    key, born = pod_key(asking.namespace, "b"), asking.pod("b", "7777/UDP@arena", ip="10.0.0.9")
    left = asking.annotate("b", ports="7778/TCP@arena")["metadata"]

    def told() -> Any:
        version, body = int(born["metadata"]["resourceVersion"]), orjson.dumps(pod_snapshot(born))
        return asking.queue.marks(EPOCH, [Mark(key, version, left["uid"], gone=False, body=body)])

    asking.queue.touch([key])
    asking.run(key, asking.other(pods=Interposed(asking.services.pods, "show", told)))
    assert asking.state("b") == "Bound"
    asking.queue.marks(EPOCH, [Mark(key, int(left["resourceVersion"]), left["uid"], gone=True, body=b"{}")])
    asking.run(key)
    assert key.removeprefix("pod/") not in asking.owners("arena")


@pytest.mark.row("EV-03", "PP-10")
def test_a_pool_whose_change_was_never_told_is_run_as_it_is_now(asking: Fleet) -> None:
    asking.run_pod("a")  # there is something new to show
    edit(asking, lbPolicy="Uniform")
    asking.queue.touch(["portpool/arena"])
    assert isinstance(asking.run("portpool/arena"), Settled)
    pool = asking.api.get(f"{PATH}/arena")
    assert (pool["status"]["allocated"], pool["status"]["observedGeneration"]) == (2, pool["metadata"]["generation"])
