"""What a claim asks of its pod."""

from __future__ import annotations

import pytest

from domain.claims.pod_claim import PodClaimSpec
from domain.claims.pod_request import MOST_LABELS, PodRequest, PodTraits
from domain.kubernetes.objects import KubeObject

BIG = {"size": "big"}


@pytest.mark.row("WC-08")
@pytest.mark.parametrize(
    ("request_", "traits", "fits"),
    [
        (PodRequest("warm"), PodTraits("warm", {}), True),
        (PodRequest("warm"), PodTraits("cold", {}), False),
        (PodRequest("warm"), PodTraits(None, {}), False),
        (PodRequest(), PodTraits(None, {}), False),
        (PodRequest(selector=BIG), PodTraits("cold", BIG | {"other": "x"}), True),
        (PodRequest(selector=BIG), PodTraits("cold", {}), False),
        (PodRequest(selector=BIG), PodTraits("cold", {"size": "small"}), False),
        (PodRequest("warm", BIG), PodTraits("cold", BIG), False),
    ],
)
def test_a_pod_fits_in_its_pool_and_its_labels(request_: PodRequest, traits: PodTraits, fits: bool) -> None:
    assert request_.fits(traits) == fits
    assert (request_.misfit(traits) is None) == fits


def test_a_claim_asks_for_its_pool_or_for_any() -> None:
    assert PodClaimSpec.model_validate({"poolName": "warm"}).request == PodRequest("warm")
    assert PodClaimSpec.model_validate({"selector": BIG}).request == PodRequest(selector=BIG)


def test_the_template_of_a_pool_has_the_traits_of_its_pods() -> None:
    template = KubeObject({"metadata": {"labels": BIG}, "spec": {}})
    assert PodTraits.of("warm", template) == PodTraits("warm", BIG)


def test_equal_requests_count_once() -> None:
    one, other = PodRequest("warm", {"a": "1", "b": "2"}), PodRequest("warm", {"b": "2", "a": "1"})
    assert {one, other} == {one}
    assert len({one, PodRequest("warm", {"a": "1"}), PodRequest(selector=one.selector)}) == 3


def test_the_index_keeps_no_more_labels_of_a_pod_than_it_has_room_for() -> None:
    labels = {f"l{n:03}": "x" for n in range(MOST_LABELS + 1)}
    kept = PodTraits("warm", labels).bounded()
    assert (kept.pool, sorted(kept.labels)) == ("warm", sorted(labels)[:MOST_LABELS])
