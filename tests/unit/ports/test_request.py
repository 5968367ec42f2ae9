"""The grammar of `berthmaster.dev/ports`."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.ports.request import RequestError, parse_ports
from domain.ports.want import EntryKey, Protocol, Want, container_port, parse_entry_key

PIECES = [
    "=",
    "/",
    "@",
    "-",
    "+",
    ",",
    "\n",
    " ",
    "7777",
    "7779",
    "0",
    "65536",
    "UDP",
    "TCP",
    "TLS",
    "arena",
    "lobby",
    "a",
]
texts = st.text() | st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
entries = st.builds(
    "{}/{}@{}".format,
    st.integers(1, 65535) | st.builds("{0}-{0}".format, st.integers(1, 65535)) | st.sampled_from(["1-50", "9-10"]),
    st.sampled_from(["TCP", "UDP", "TCPUDP", "QUIC"]),
    st.lists(st.sampled_from(["arena", "lobby", "b.c-d"]), min_size=1, unique=True).map("+".join),
)


def read(text: str, default: str = "") -> tuple[Want, ...] | str:
    """The wants, or the error's words."""
    try:
        return parse_ports(text, default)
    except RequestError as error:
        return str(error)


def parts(want: Want) -> list[EntryKey]:
    return [EntryKey(want.key, port, want.protocol) for port in range(want.port, want.last + 1)]


def refusal(text: str) -> str:
    answer = read(text)
    assert isinstance(answer, str)
    return answer


@pytest.mark.row("BD-03")
@pytest.mark.parametrize(
    "text",
    [
        "game=7777/UDP@arena,voice=9000/TCP@lobby",
        "game=7777/UDP@arena\nvoice=9000/TCP@lobby\n",
        "\n  game=7777/UDP@arena ,\r\n\n  voice=9000/TCP@lobby  ,\n",
    ],
)
def test_entries_are_separated_by_commas_or_lines(text: str) -> None:
    assert parse_ports(text) == (
        Want("arena", 7777, Protocol.UDP, (("game", Protocol.UDP),)),
        Want("lobby", 9000, Protocol.TCP, (("voice", Protocol.TCP),)),
    )


@pytest.mark.row("BD-03")
def test_an_entry_without_a_name_is_called_by_port_and_protocol() -> None:
    assert parse_ports("7777/UDP@arena")[0].names == (("7777-udp", Protocol.UDP),)


@pytest.mark.row("BD-03")
@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("0/UDP@arena", "port '0' is not a number from 1 to 65535"),
        ("65536/UDP@arena", "port '65536' is not a number from 1 to 65535"),
        ("x/UDP@arena", "port 'x' is not a number"),
        ("\uff17\uff17/UDP@arena", "is not a number"),
        ("٣/UDP@arena", "is not a number"),
        ("²/UDP@arena", "is not a number"),
        ("7 7/UDP@arena", "is not a number"),
        ("+7/UDP@arena", "is not a number"),
        ("/UDP@arena", "PORT is missing"),
        ("-7/UDP@arena", "PORT is missing"),
        ("7777@arena", "PROTOCOL is missing"),
        ("7777/@arena", "PROTOCOL is missing"),
        ("7777/udp@arena", "protocol 'udp' is unknown"),
        ("7777/SCTP@arena", "protocol 'SCTP' is unknown"),
        ("7777/UDP", "POOL is missing"),
        ("7777/UDP@", "POOL is missing"),
        ("7777/UDP@arena+", "'' is not the name of a PortPool"),
        ("7777/UDP@arena+Lobby", "'Lobby' is not the name of a PortPool"),
        ("7777/UDP@arena+lobby+arena", "names a pool twice"),
        ("7777/UDP@" + "+" * 10_000, "'' is not the name of a PortPool"),
        ("7777/UDP@Arena", "'Arena' is not the name of a PortPool"),
        ("7777/UDP@-", "'-' is not the name of a PortPool"),
        ("7009-7000/UDP@arena", "the range ends at 7000, before it begins at 7009"),
        ("7000-7050/UDP@arena", "51 ports in a row are more than the 50 of a load balancer"),
        ("7000-/UDP@arena", "END is missing"),
        ("7000-x/UDP@arena", "port 'x' is not a number"),
        ("65530-65540/UDP@arena", "port '65540' is not a number from 1 to 65535"),
        ("7000-7001-7002/UDP@arena", "port '7001-7002' is not a number"),
        ("Game=7777/UDP@arena", "the name 'Game' must be lower-case"),
        ("=7777/UDP@arena", "the name '' must be lower-case"),
        ("a" * 64 + "=7777/UDP@arena", "must be lower-case letters, digits and hyphens, at most 63"),
        ("7777/UDP@arena@lobby", "is not [name=]PORT[-END]/PROTOCOL@POOL"),
        ("a=b=7777/UDP@arena", "is not [name=]PORT[-END]/PROTOCOL@POOL"),
        ("7777", "PROTOCOL is missing"),
    ],
)
def test_a_faulty_entry_is_named_with_what_is_wrong_with_it(entry: str, why: str) -> None:
    message = refusal(f"ok=1/TCP@arena,\n{entry}")
    assert message.startswith(f"entry 2 ({entry[:80]!r})")
    assert why in message


@pytest.mark.row("BD-03")
@pytest.mark.parametrize(
    "text", ["7777/UDP@arena\x00", "\x007777/UDP@arena", "7777/UDP@ar\x1bena", "ga\ud800me=1/UDP@a"]
)
def test_what_cannot_be_printed_is_refused_and_shown_in_plain_letters(text: str) -> None:
    assert refusal(text).isprintable()


@pytest.mark.row("AL-03", "AL-04")
def test_tcp_and_udp_of_one_number_share_one_want() -> None:
    (want,) = parse_ports("voice=9000/UDP@arena, control=9000/TCP@arena")
    assert (want.protocol, want.key) == (Protocol.TCPUDP, "9000/TCPUDP")
    assert want.names == (("voice", Protocol.UDP), ("control", Protocol.TCP))


@pytest.mark.row("AL-04")
def test_both_protocols_in_one_entry_are_one_want() -> None:
    (want,) = parse_ports("voice=9000/TCPUDP@arena")
    assert (want.key, want.names) == ("9000/TCPUDP", (("voice", Protocol.TCPUDP),))


@pytest.mark.row("AL-03")
def test_one_number_in_two_pools_is_two_wants() -> None:
    assert [w.pool for w in parse_ports("a=9000/UDP@arena, b=9000/TCP@lobby")] == ["arena", "lobby"]


@pytest.mark.row("BD-03", "AL-03")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a=1/UDP@x, b=1/UDP@x", "port 1/UDP of pool x is asked for twice"),
        ("a=1/TCPUDP@x, b=1/TCP@x", "port 1/TCP of pool x is asked for twice"),
        ("a=1/QUIC@x, b=1/UDP@x", "port 1/UDP of pool x is asked for twice"),
        ("a=1-9/UDP@x, b=9-12/UDP@x", "port 9/UDP of pool x is asked for twice"),
        ("a=1-9/UDP@x+y, b=5/TCPUDP@y", "port 5/UDP of pool y is asked for twice"),
        ("a=1/UDP@x, a=2/UDP@x", "the name 'a' is given to two entries"),
        ("1/UDP@x, 1/UDP@y", "the name '1-udp' is given to two entries"),
    ],
)
def test_nothing_can_be_asked_for_twice(text: str, why: str) -> None:
    assert why in refusal(text)


@pytest.mark.row("BD-04")
@pytest.mark.parametrize("text", ["", " ", "\n\t\n"])
def test_an_empty_annotation_means_the_default(text: str) -> None:
    assert parse_ports(text, "7777/UDP@arena") == parse_ports("7777/UDP@arena")


@pytest.mark.row("BD-04")
@pytest.mark.parametrize("text", ["", " , \n,"])
def test_nothing_asked_for_and_no_default_is_an_error_that_says_how_to_set_one(text: str) -> None:
    assert "BERTHMASTER_PORTS__DEFAULT_SPEC" in refusal(text)


@pytest.mark.row("BD-03")
@given(texts, texts)
@example("٣/UDP@arena", "")
@example("\x1c", "\x85")
def test_any_text_gives_wants_or_an_error_of_one_line(text: str, default: str) -> None:
    answer = read(text, default)
    if isinstance(answer, str):
        assert len(answer) < 400
        assert answer.isprintable()
    else:
        assert len({(w.pool, w.key) for w in answer}) == len(answer) > 0
        assert all(1 <= w.port <= w.last <= 65535 for w in answer)
        assert all([parse_entry_key(key) for key in w.keys] == parts(w) for w in answer)


@pytest.mark.row("BD-03", "AL-03")
@given(st.lists(entries, min_size=1, max_size=20))
def test_every_entry_is_served_by_exactly_one_want_in_each_of_its_pools(listed: list[str]) -> None:
    wants = read("\n".join(f"n{n}={entry}" for n, entry in enumerate(listed)))
    if isinstance(wants, str):
        assert "asked for twice" in wants or "too many" in wants
        return
    served = sorted((name, want.pool) for want in wants for name, _ in want.names)
    asked = ((f"n{n}", pool) for n, entry in enumerate(listed) for pool in entry.partition("@")[2].split("+"))
    assert served == sorted(asked)


@pytest.mark.row("BD-03")
def test_too_many_entries_are_refused() -> None:
    assert "101 entries are too many" in refusal(",".join(f"{port}/UDP@arena" for port in range(1, 102)))


@pytest.mark.row("BD-03")
@pytest.mark.parametrize(
    "piece", ["7", "-", "/", "@", "=", "a-", "7/", "a=", ",", "\n", "7777/UDP@arena,", " ", "\x00"]
)
def test_the_cost_grows_with_the_length_only(piece: str) -> None:
    """Four times what an annotation can hold, in a bound that a quadratic reading would miss by far."""
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    assert refusal(text)
    assert time.process_time() - began < 60


@pytest.mark.row("BD-03")
def test_a_range_is_one_want_whose_entries_have_keys_of_their_own() -> None:
    (want,) = parse_ports("rtp=10000-10002/UDP@arena")
    assert (want.key, want.ports, want.names) == ("10000-10002/UDP", 3, (("rtp", Protocol.UDP),))
    assert [container_port(key) for key in want.keys] == [10000, 10001, 10002]
    assert parse_ports("10000-10002/UDP@arena")[0].names == (("10000-10002-udp", Protocol.UDP),)
    assert parse_ports("x=7-7/UDP@arena") == parse_ports("x=7/UDP@arena")


@pytest.mark.row("AL-09")
def test_an_entry_of_several_pools_is_a_want_in_each() -> None:
    wants = parse_ports("game=7777/UDP@arena+lobby, voice=9000/TCP@arena")
    assert [(w.pool, w.key) for w in wants] == [("arena", "7777/UDP"), ("lobby", "7777/UDP"), ("arena", "9000/TCP")]


@pytest.mark.row("AL-05")
def test_quic_is_udp_under_its_own_word() -> None:
    (want,) = parse_ports("web=443/QUIC@arena, old=443/TCP@arena")
    assert (want.key, want.names) == ("443/TCPUDP", (("web", Protocol.QUIC), ("old", Protocol.TCP)))


@pytest.mark.row("BD-03")
def test_only_ranges_of_the_same_numbers_share_a_want() -> None:
    assert [w.key for w in parse_ports("a=1-9/UDP@x, b=1-9/TCP@x")] == ["1-9/TCPUDP"]
    assert [w.key for w in parse_ports("a=1-9/UDP@x, b=1-8/TCP@x, c=1/TCP@y")] == ["1-9/UDP", "1-8/TCP", "1/TCP"]


@pytest.mark.row("BD-03", "SU-12")
def test_too_many_ports_are_refused() -> None:
    text = ",".join(f"{100 * n}-{100 * n + 49}/UDP@arena+lobby" for n in range(1, 4))
    assert len(parse_ports(text)) == 6
    assert "400 ports are too many: at most 300 a pod, counted in every pool" in refusal(text + ",9-58/TCP@arena+lobby")


@given(st.text() | st.lists(st.sampled_from(["7", "0", "-", "+", "/UDP", "/TLS", "65535"]), max_size=6).map("".join))
@example("7-9/UDP")
@example("7/UDP+0")
@example("7-9/UDP+3")
@example("7-7/UDP+0")
@example("7-57/UDP+0")
@example("65535-65536/UDP+1")
def test_a_text_that_is_no_key_has_no_port(text: str) -> None:
    part = parse_entry_key(text)
    if part:
        end = int(part.want.partition("/")[0].rpartition("-")[2])
        first = int(part.want.partition("/")[0].partition("-")[0])
        assert text == Want("arena", first, part.protocol, (), end).key_of(part.port)
