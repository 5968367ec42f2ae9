"""Names in AWS: legal, short, and different for different things."""

from __future__ import annotations

import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.cloud.names import load_balancer_name, may_be_ours, target_group_name

LEGAL = re.compile(r"(?!.*--)[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?")
LB = "bm-arena-4kq2zt7m5a-0"


@pytest.mark.row("CL-11")
def test_ten_thousand_random_ports_have_ten_thousand_legal_names() -> None:
    chance = random.Random(11)
    ids = {
        ("".join(chance.choices(string.hexdigits, k=36)), f"bm-{chance.randrange(50)}", chance.randrange(1, 65536))
        for _ in range(10_000)
    }
    names = {target_group_name(*each) for each in ids}
    assert len(names) == len(ids)
    assert all(LEGAL.fullmatch(name) for name in names)


@pytest.mark.row("CL-11")
@given(st.text(), st.text(), st.integers(1, 65535))
def test_any_text_gives_a_legal_target_group_name(uid: str, lb: str, port: int) -> None:
    assert LEGAL.fullmatch(target_group_name(uid, lb, port))


@given(st.text(), st.text(), st.integers(0, 999))
def test_any_text_gives_a_legal_load_balancer_name(cluster: str, pool: str, slot: int) -> None:
    assert LEGAL.fullmatch(load_balancer_name(cluster, pool, slot))


@pytest.mark.row("PP-18")
@given(st.text(), st.text(), st.integers(0, 999), st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True))
def test_any_prefix_begins_a_legal_name_that_is_known_as_ours(cluster: str, pool: str, slot: int, prefix: str) -> None:
    name = load_balancer_name(cluster, pool, slot, prefix)
    assert name.startswith(f"{prefix}-")
    assert LEGAL.fullmatch(name.removeprefix(prefix)[1:])
    assert len(name) <= 32
    assert may_be_ours(name)


@pytest.mark.row("BD-24")
def test_two_ports_of_a_pod_have_two_names() -> None:
    assert target_group_name("uid", LB, 30000) != target_group_name("uid", LB, 30001)


def test_one_port_on_two_load_balancers_has_two_names() -> None:
    assert target_group_name("uid", "lb-0", 30000) != target_group_name("uid", "lb-1", 30000)


def test_long_pool_names_with_the_same_beginning_have_different_names() -> None:
    beginning = "p" * 60
    assert load_balancer_name("blue", f"{beginning}-a", 0) != load_balancer_name("blue", f"{beginning}-b", 0)


def test_pools_of_one_name_in_two_clusters_have_different_names() -> None:
    assert load_balancer_name("blue", "arena", 0) != load_balancer_name("green", "arena", 0)


def test_the_parts_of_a_name_cannot_run_into_each_other() -> None:
    assert load_balancer_name("ab", "c", 0).split("-")[2] != load_balancer_name("a", "bc", 0).split("-")[2]


@pytest.mark.row("SU-07")
def test_a_name_is_the_same_at_every_call() -> None:
    assert load_balancer_name("blue", "arena", 3) == load_balancer_name("blue", "arena", 3)
    assert load_balancer_name("blue", "arena", 3).endswith("-3")
