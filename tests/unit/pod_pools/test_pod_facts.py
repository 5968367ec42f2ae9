"""Facts of pods are derived once for each version of a pod."""

from __future__ import annotations

from domain.kubernetes.objects import Pod
from workers.pod_pools.pod_facts import PodFacts


def pod(uid: str, name: str = "a") -> Pod:
    return Pod({"metadata": {"uid": uid, "name": name}})


def test_a_fact_is_derived_once_for_each_version_of_a_pod_and_forgotten_with_it() -> None:
    derived: list[str] = []

    def name(pod: Pod) -> str:
        derived.append(pod.name)
        return pod.name

    facts, first, changed = PodFacts(), pod("1"), pod("1", "b")
    assert [facts.of(first, name), facts.of(Pod(first.raw), name)] == ["a", "a"]
    assert derived == ["a"]
    assert [facts.of(changed, name), facts.of(first, name)] == ["b", "a"]  # it keeps the facts of one version
    facts.forget_others({"2"})
    assert facts.of(first, name) == "a"
    assert derived == ["a", "b", "a", "a"]


def test_facts_of_one_kind_are_not_those_of_another() -> None:
    facts, one = PodFacts(), pod("1")
    assert facts.of(one, lambda pod: pod.name) == "a"
    assert facts.of(one, lambda pod: pod.uid) == "1"
