"""What a claim set reads from its claims and their pods."""

from __future__ import annotations

from typing import Any

import pytest

from domain.claim_sets.pod_claim_set import ClaimMeta, ClaimTemplate
from domain.claims.claim import ClaimPhase
from domain.claims.pod_claim import PodClaimSpec
from domain.kubernetes.names import CLAIMED_BY, DELETION_COST, TEMPLATE_HASH
from domain.kubernetes.objects import KubeObject, Pod
from workers.claim_sets.observe import member
from workers.kube.pod_claim_sets import template_hash

Json = dict[str, Any]
READY: Json = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def claim(phase: str | None = "Bound", **spec: Any) -> KubeObject:
    meta = {"name": "db-0", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T12:00:00Z"}
    status = {"status": {"phase": phase}} if phase else {}
    return KubeObject({"metadata": meta | {"labels": {TEMPLATE_HASH: "h"}}, "spec": {"podName": "p"} | spec, **status})


def pods(by: str = "u", status: Json = READY, cost: str = "", node: str = "n", **meta: Any) -> dict[str, Pod]:
    metadata = {"name": "p", "labels": {CLAIMED_BY: by}, "annotations": {DELETION_COST: cost}} | meta
    return {"p": Pod({"metadata": metadata, "spec": {"nodeName": node}, "status": status})}


@pytest.mark.row("WC-30")
def test_a_member_has_what_its_claim_and_its_pod_say() -> None:
    entry = member(claim(), pods(cost="-12"), "h")
    assert (entry.phase, entry.has_pod, entry.scheduled, entry.pod_phase) == (ClaimPhase.BOUND, True, True, "Running")
    assert (entry.ready, entry.cost, entry.current, entry.version, entry.moves) == (True, -12, True, "7", False)
    assert not member(claim(), pods(node=""), "h").scheduled
    assert not member(claim(), pods(), "other").current
    assert member(claim(sourcePod={"podName": "q"}), {}, "h").moves


@pytest.mark.row("WC-42", "WC-32")
def test_a_pod_of_another_or_one_that_terminates_is_no_ready_pod() -> None:
    assert not member(claim(), pods(by="another"), "h").ready
    assert not member(claim(), {}, "h").ready
    assert not member(claim(), pods(deletionTimestamp="2026-01-01T12:00:00Z"), "h").ready
    assert not member(claim(), pods(status={"phase": "Running"}), "h").ready


@pytest.mark.parametrize("phase", [None, "Nonsense"])
def test_a_claim_without_a_phase_that_we_know_is_pending(phase: str | None) -> None:
    assert member(claim(phase), {}, "h").phase is ClaimPhase.PENDING


@pytest.mark.row("WC-31")
def test_a_cost_that_is_no_number_is_none() -> None:
    assert member(claim(), pods(cost="dear"), "h").cost == 0


def test_templates_that_ask_for_the_same_have_one_hash() -> None:
    plain = ClaimTemplate(spec=PodClaimSpec(pool_name="warm"))
    spelled = ClaimTemplate(metadata=ClaimMeta(labels={}), spec=PodClaimSpec(pool_name="warm", owner_name=""))
    assert template_hash(plain) == template_hash(spelled)
    assert template_hash(plain) != template_hash(ClaimTemplate(spec=PodClaimSpec(pool_name="hot")))
    labelled = ClaimTemplate(metadata=ClaimMeta(labels={"a": "b"}), spec=PodClaimSpec(pool_name="warm"))
    assert template_hash(plain) != template_hash(labelled)
