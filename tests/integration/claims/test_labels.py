"""A claim adds labels to its pod; those of the pool's template stay as they are."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import ADDED_LABELS
from tests.support.claims.claim_world import ClaimWorld


@pytest.mark.row("HO-08")
def test_a_claim_does_not_overwrite_a_label_of_the_template_and_says_which(world: ClaimWorld) -> None:
    """A Service or a NetworkPolicy selects by it: the claim's author would choose its traffic."""
    world.pod("p1", tier="free")
    world.bound(additionalPodLabels={"tier": "paid", "match": "7"})
    assert world.labels("p1").items() >= {"tier": "free", "match": "7"}.items()
    condition = world.condition("LabelsApplied")
    assert (condition["status"], condition["reason"]) == ("False", "LabelsLeftOut")
    assert condition["message"] == "label tier is left out: the pod has it from its pool's template"
    before = (world.read(), world.get("p1"))
    world.run()
    assert (world.read(), world.get("p1")) == before, "what is left out is not tried again and again"
    world.spec(additionalPodLabels={"tier": None})
    world.run()
    assert world.condition("LabelsApplied")["status"] == "True"
    world.delete()
    world.run()
    assert (world.labels("p1")["tier"], "match" in world.labels("p1")) == ("free", False)


@pytest.mark.row("HO-08")
def test_a_claim_that_overwrote_a_label_before_keeps_its_pod_and_the_label_comes_back(world: ClaimWorld) -> None:
    world.pod("p1", tier="free")
    world.bound(additionalPodLabels={"match": "7"})
    world.label("p1", "tier", "paid")
    world.annotate("p1", ADDED_LABELS, '{"match":null,"tier":"free"}')
    world.spec(additionalPodLabels={"tier": "paid"})
    world.run()
    assert (world.phase(), world.pod_of(), world.labels("p1")["tier"]) == ("Bound", "p1", "free")
    assert world.condition("LabelsApplied")["reason"] == "LabelsLeftOut"
    world.delete()
    world.run()
    assert world.gone()
    assert (world.labels("p1")["tier"], "match" in world.labels("p1")) == ("free", False)
