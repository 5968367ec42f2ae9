"""Which ports of a load balancer have which precreated listener, and who may have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.port_pools.port_pool import Precreate
from domain.ports.precreate import in_turns, kind_of, listener_of, ports_of, uncovered
from domain.ports.request import parse_ports
from domain.ports.want import Protocol, Want
from tests.support.ports.builders import pool_spec

some = st.integers(0, 16)


@pytest.mark.row("PP-10")
def test_the_layout_is_tcp_then_udp_then_both_from_the_first_port_upward() -> None:
    spec = pool_spec(precreate=Precreate(tcp=3, udp=2, tcp_udp=1))
    assert ports_of(spec) == {
        Protocol.TCP: range(30000, 30003),
        Protocol.UDP: range(30003, 30005),
        Protocol.TCPUDP: range(30005, 30006),
    }
    assert spec.ports == range(30000, 30006)


@pytest.mark.row("PP-10")
@given(tcp=some, udp=some, both=some)
def test_every_port_of_the_pool_has_one_listener_and_serves_its_protocol(tcp: int, udp: int, both: int) -> None:
    spec = pool_spec(precreate=Precreate(tcp=tcp, udp=udp, tcp_udp=both), end_port=30999)
    if not spec.precreate.total:
        assert spec.ports == range(30000, 31000)
        return
    for port in spec.ports:
        protocol = listener_of(spec, port)
        assert [p for p, ports in ports_of(spec).items() if port in ports] == [protocol]
    assert listener_of(spec, spec.ports.stop) is None
    assert sorted(in_turns(spec, spec.ports)) == list(spec.ports)


@pytest.mark.row("PP-10")
def test_listeners_of_every_protocol_are_made_in_turn() -> None:
    spec = pool_spec(precreate=Precreate(tcp=3, udp=2))
    assert list(in_turns(spec, [30000, 30001, 30002, 30003, 30004])) == [30000, 30003, 30001, 30004, 30002]


@pytest.mark.row("PP-11", "AL-05")
def test_quic_is_served_by_udp_and_tls_by_nobody() -> None:
    spec = pool_spec(precreate=Precreate(tcp=3, udp=2))
    assert kind_of(Protocol.QUIC) == kind_of(Protocol.UDP) == 2
    tls = Want("arena", 443, Protocol.TLS, ())
    assert str(uncovered(spec, [tls])).startswith("TLS is asked for and precreate has no TLS listeners")


@pytest.mark.row("PP-11")
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("7777/TCP@arena", ""),
        ("7777/UDP@arena", "UDP is asked for and precreate has no UDP listeners (TCP 2, UDP 0, TCPUDP 1)"),
        (",".join(f"{n}/TCP@arena" for n in range(1, 8)), "7 TCP ports are asked for and the pool can never have"),
        ("7777/TCP@arena,7777/UDP@arena", ""),
    ],
)
def test_what_no_precreated_listener_can_serve_is_named(asked: str, said: str) -> None:
    told = uncovered(pool_spec(precreate=Precreate(tcp=2, tcp_udp=1)), parse_ports(asked))
    assert (told or "").startswith(said)
    assert bool(told) == bool(said)


def test_a_pool_without_precreated_listeners_covers_everything() -> None:
    assert uncovered(pool_spec(), parse_ports("7777/UDP@arena")) is None
