"""The published result: what we write, and what we believe of what we read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.ports.endpoints import amend_endpoints, format_endpoints, parse_endpoints, published_ids
from domain.ports.entry import Entry, EntryState
from domain.ports.pod import family_of
from domain.ports.request import parse_ports
from tests.unit.ports.worlds import entry

WANTS = parse_ports("game=7777/UDP@arena")
HELD = entry(30001, state=EntryState.BOUND, target="10.0.0.1:7777")
TEXT = format_endpoints(WANTS, [HELD], {"bm-arena-0": "bm.example"})

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


def row(**changes: Any) -> str:
    return json.dumps([json.loads(TEXT or "")[0] | changes])


@pytest.mark.row("BD-09")
def test_a_result_reads_back_as_it_was_written() -> None:
    (read,) = parse_endpoints(TEXT)
    assert (read.ids, read.container_port, read.target) == ([HELD.id], 7777, "10.0.0.1:7777")
    assert (read.name, read.protocol, read.host) == ("game", "UDP", "bm.example")
    assert amend_endpoints(TEXT, [HELD]) == TEXT


@pytest.mark.row("BD-09")
def test_a_result_of_an_earlier_version_without_target_is_understood() -> None:
    old = json.loads(TEXT or "")
    del old[0]["target"]
    assert parse_endpoints(json.dumps(old))[0].target == ""


def test_nothing_held_is_no_annotation() -> None:
    assert format_endpoints(WANTS, [], {}) is None
    assert amend_endpoints(TEXT, []) is None


@pytest.mark.row("BD-12")
def test_an_amended_result_says_what_is_registered_now() -> None:
    (read,) = json.loads(amend_endpoints(TEXT, [replace(HELD, target="")]) or "")
    assert (read["target"], read["status"], read["address"]) == ("", "NotReady", "bm.example:30001")


@pytest.mark.row("BD-21")
@pytest.mark.parametrize(
    "text",
    [
        "{",
        "null",
        "7",
        "{}",
        "[7]",
        "[null]",
        "[[]]",
        "[" * 200_000,
        "[" + "9" * 5000 + "]",
        row(port=0),
        row(port=65536),
        row(port=True),
        row(port=30001.0),
        row(port="30001"),
        row(port=float("inf")),
        row(port=None),
        row(containerPort=-1),
        row(pool=""),
        row(pool=7),
        row(loadBalancer=""),
        row(loadBalancer="a b"),
        row(loadBalancer="a:1"),
        row(loadBalancer="\ud800"),
        row(loadBalancer="x" * 64),
        row(target="10.0.0.256:7777"),
        row(target="10.0.0.1"),
        row(target="10.0.0.1:0"),
        row(target="10.0.0.1:99999999999999999999"),
        row(target="host:7777"),
        row(name=["x"]),
        json.dumps(json.loads(TEXT or "") * 1001),
    ],
)
def test_a_text_that_we_would_not_have_written_counts_as_nothing(text: str) -> None:
    assert parse_endpoints(text) == ()
    assert published_ids(text) == set()
    assert amend_endpoints(text, [HELD]) is None


@given(st.text() | json_values.map(json.dumps))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert all(1 <= each.port <= 65535 and each.lb for each in parse_endpoints(text))


@pytest.mark.row("AL-03")
def test_tcp_and_udp_of_one_port_show_one_address_twice() -> None:
    wants = parse_ports("a=9000/TCP@arena,b=9000/UDP@arena")
    text = format_endpoints(wants, [replace(HELD, want="9000/TCPUDP")], {})
    assert [(r["name"], r["protocol"], r["port"]) for r in json.loads(text or "")] == [
        ("a", "TCP", 30001),
        ("b", "UDP", 30001),
    ]


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("10.0.0.1", "ipv4"),
        ("255.255.255.255", "ipv4"),
        ("010.0.0.1", None),
        ("10.0.0.1 ", None),
        ("fd00::1", "ipv6"),
        ("::1", "ipv6"),
        ("FD00::1", None),
        ("fd00:0::1", None),
        ("fe80::1%eth0", None),
        ("::ffff:10.0.0.1", None),
        ("::ffff:a00:1", None),
        ("[::1]", None),
        ("None", None),
        ("", None),
    ],
)
def test_an_address_is_written_in_one_way(text: str, family: str | None) -> None:
    assert family_of(text) == family


@pytest.mark.row("BD-06")
@given(st.text(max_size=30) | st.ip_addresses().map(str))
def test_any_text_has_a_family_or_none(text: str) -> None:
    assert family_of(text) in (None, "ipv4", "ipv6")


@pytest.mark.row("BD-06")
@pytest.mark.parametrize(
    ("target", "good"),
    [("[fd00::1]:7777", True), ("fd00::1:7777", False), ("[10.0.0.1]:7777", False), ("[fd00::1]7777", False)],
)
def test_an_ipv6_target_is_read_back_in_one_spelling(target: str, good: bool) -> None:
    text = json.dumps([{"pool": "arena", "loadBalancer": "lb", "port": 1, "containerPort": 2, "target": target}])
    assert bool(parse_endpoints(text)) is good


def test_an_entry_is_named_by_load_balancer_and_port() -> None:
    assert Entry("p", "lb", 7, "w", "u", EntryState.BOUND).key == "lb:7"


RANGE = parse_ports("rtp=10-12/UDP@arena")
ROW = [replace(HELD, port=30001 + n, want=key, target=f"10.0.0.1:{10 + n}") for n, key in enumerate(RANGE[0].keys)]


@pytest.mark.row("PP-08", "BD-09")
def test_a_range_is_one_row_and_reads_back_port_by_port() -> None:
    text = format_endpoints(RANGE, ROW, {"bm-arena-0": "bm.example"})
    (row,) = json.loads(text or "")
    assert (row["port"], row["endPort"], row["containerPort"], row["target"]) == (30001, 30003, 10, "10.0.0.1:10")
    (read,) = parse_endpoints(text)
    assert [(one.port, one.container_port, one.target) for one in read.port_by_port()] == [
        (30001 + n, 10 + n, f"10.0.0.1:{10 + n}") for n in range(3)
    ]
    assert amend_endpoints(text, ROW) == text


@pytest.mark.row("BD-14", "AL-19")
def test_a_range_whose_targets_differ_says_so_in_rows_of_their_own() -> None:
    """Else a rebuild would believe that the later ports have the target of the first, and never register it."""
    text = format_endpoints(RANGE, ROW, {})
    moved = [replace(ROW[0], target="10.0.0.2:10"), *ROW[1:]]
    rows = [one for row in parse_endpoints(amend_endpoints(text, moved)) for one in row.port_by_port()]
    assert [(one.port, one.target) for one in rows] == [(e.port, e.target) for e in moved]
    apart = [replace(ROW[1], target=""), ROW[2]]
    rows = [one for row in parse_endpoints(amend_endpoints(text, apart)) for one in row.port_by_port()]
    assert [(one.port, one.container_port, one.target) for one in rows] == [(30002, 11, ""), (30003, 12, "10.0.0.1:12")]


@pytest.mark.row("BD-21")
@pytest.mark.parametrize(
    "changes",
    [
        {"endPort": 30000},
        {"endPort": 30051},
        {"endPort": "30002"},
        {"endPort": None},
        {"port": 65535, "endPort": 65536},
        {"endPort": 30003, "containerPort": 65534, "target": ""},
        {"endPort": 30003, "target": "10.0.0.1:65534"},
        {"target": "10.0.0.1:000001" + "9" * 5000},
    ],
)
def test_a_range_that_we_would_not_have_written_counts_as_nothing(changes: dict[str, Any]) -> None:
    assert parse_endpoints(row(**changes)) == ()
