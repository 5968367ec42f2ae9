"""What a rebuild gives to pods whose author wrote into their annotations what nobody granted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from domain.kubernetes.names import PORTS
from domain.port_audit.rebuild import RebuildRules, rebuild
from domain.ports.entry import EntryState
from domain.ports.pod import PodView
from tests.unit.ports.test_rebuild import ONE, found, pod, states


class TestForged:
    """A pod's author can write the annotation that says which ports the pod has."""

    PLACE = ("lb", 30000)

    def stranger(self, name: str = "a", **changes: Any) -> PodView:
        return pod(name, shows=[self.PLACE], **{"namespace": "foes", "ips": ("10.0.0.66",), **changes})

    @pytest.mark.row("HO-06")
    def test_a_precreated_port_that_is_kept_for_another_is_not_given_to_a_pod_that_publishes_it(self) -> None:
        kept = found("b", self.PLACE)
        item = replace(kept, entry=replace(kept.entry, retain=600), shared=True)
        world = rebuild("arena", [item], [], [self.stranger()])
        assert (states(world, "b"), world.owners.get("foes/a")) == ({30000: "retained"}, None)
        assert world.doubtful == (self.PLACE,)

    @pytest.mark.row("HO-06", "BD-22")
    def test_a_pod_that_is_registered_there_has_it_whatever_an_old_tag_says(self) -> None:
        """A worker died between binding the pod and taking off the tags of the owner before it."""
        kept = found("b", self.PLACE)
        item = replace(kept, entry=replace(kept.entry, retain=600), shared=True)
        world = rebuild("arena", [item], [], [self.stranger()], registered={self.PLACE: {"10.0.0.66:7777"}})
        assert [e.state for e in world.owners["foes/a"]] == [EntryState.BOUND]

    @pytest.mark.row("HO-06")
    @pytest.mark.parametrize("ports", [ONE, "unreadable", "9000/TCP@arena"])
    def test_of_two_pods_that_publish_a_port_the_one_that_is_registered_there_has_it(self, ports: str) -> None:
        victim = pod("b", shows=[self.PLACE], ips=("10.0.0.1",))
        foe = self.stranger(annotations={**self.stranger().annotations, PORTS: ports})
        assert rebuild("arena", [], [], [foe, victim]).doubtful == (self.PLACE,)
        world = rebuild("arena", [], [], [foe, victim], registered={self.PLACE: {"10.0.0.1:7777"}})
        assert (states(world, "b"), world.owners.get("foes/a")) == ({30000: "bound"}, None)

    @pytest.mark.row("HO-06")
    def test_a_pod_whose_annotation_cannot_be_read_keeps_the_port_where_it_is_registered(self) -> None:
        victim = pod("b", ports="unreadable", shows=[self.PLACE], ips=("10.0.0.1",))
        world = rebuild("arena", [], [], [self.stranger(), victim], registered={self.PLACE: {"10.0.0.1:7777"}})
        assert (states(world, "b"), world.owners.get("foes/a")) == ({30000: "bound"}, None)

    @pytest.mark.row("HO-06")
    @pytest.mark.parametrize(
        "rules", [RebuildRules(barred=frozenset({"foes"})), RebuildRules(share=0)], ids=["barred", "share"]
    )
    @pytest.mark.parametrize("ports", [ONE, "unreadable"])
    def test_what_an_allocation_would_refuse_is_not_granted_because_it_is_published(
        self, rules: RebuildRules, ports: str
    ) -> None:
        foe = self.stranger(annotations={**self.stranger().annotations, PORTS: ports})
        world = rebuild("arena", [], [], [foe], rules)
        assert [e.state for e in world.owners["foes/a"]] == [EntryState.RELEASING]
        assert world.doubtful == (self.PLACE,)

    @pytest.mark.row("HO-06", "AL-19")
    @pytest.mark.parametrize(
        "rules", [RebuildRules(barred=frozenset({"foes"})), RebuildRules(share=0)], ids=["barred", "share"]
    )
    def test_a_pod_that_is_registered_keeps_its_port_after_the_limit_was_lowered(self, rules: RebuildRules) -> None:
        world = rebuild("arena", [], [], [self.stranger()], rules, {self.PLACE: {"10.0.0.66:7777"}})
        assert [e.state for e in world.owners["foes/a"]] == [EntryState.BOUND]

    @pytest.mark.row("HO-06")
    def test_a_share_counts_what_the_namespace_holds_by_its_tags(self) -> None:
        pods = [pod("a"), pod("b", shows=[("lb", 30001)]), pod("c", shows=[("lb", 30002)])]
        world = rebuild("arena", [found("a")], [], pods, RebuildRules(share=2))
        assert [states(world, name) for name in "abc"] == [{30000: "bound"}, {30001: "bound"}, {30002: "releasing"}]
        assert world.doubtful == (("lb", 30002),)
