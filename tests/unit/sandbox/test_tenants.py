"""What the sandbox makes of claims."""

from __future__ import annotations

from compose.sandbox.tenants import Tenant, next_to_end, pending


def claim(name: str, phase: str = "", pod: str = "", **spec: object) -> Tenant:
    body = {"metadata": {"name": name}, "spec": {"podName": pod, **spec}, "status": {"phase": phase}}
    return Tenant.from_object(body)


def seen(*claims: Tenant) -> dict[str, Tenant]:
    return {each.name: each for each in claims}


def test_a_claim_without_a_status_is_pending_and_one_with_a_source_moves() -> None:
    assert claim("a").phase == "Pending"
    assert claim("a", "Bound", "p").phase == "Bound"
    assert claim("a", "Bound", "p", sourcePod={"podName": "q"}).phase == "Moving"


def test_what_is_not_bound_is_named() -> None:
    assert list(pending(seen(claim("a", "Bound", "p")), 1)) == []
    assert list(pending(seen(claim("a", "Bound", "p"), claim("b")), 2)) == ["1 of 2 claims are bound: b (Pending)"]
    assert list(pending({}, 2)) == ["0 of 2 claims are bound"]


def test_a_pod_of_two_claims_is_named() -> None:
    twice = seen(claim("a", "Bound", "p"), claim("b", "Bound", "p"))
    assert list(pending(twice, 2)) == ["pods with more than one claim: p"]


def test_a_claim_is_ended_once_however_long_it_takes_to_go_and_one_that_waits_holds_up_no_other() -> None:
    """Each end makes a new claim: with more claims than pods all would wait for ever."""
    some = seen(claim("a", "Bound", "p"), claim("b"), claim("c", "Bound", "q"))
    assert next_to_end(some, set()) == "a"
    assert next_to_end(some, {"a"}) == "c"
    assert next_to_end(some, {"a", "c"}) == ""
