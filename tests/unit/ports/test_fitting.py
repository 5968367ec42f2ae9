"""What a request becomes in its pools, and what is refused before any port is taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.kubernetes.names import CERTIFICATE, SAME_PORT
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.fitting import fitted
from domain.ports.pod import PodView
from domain.ports.request import RequestError, parse_ports
from tests.support.ports.builders import pool_spec

ARN = "arn:aws:acm:eu-west-1:123456789012:certificate/0be47a57-1"


def pod(certificate: str = "", same_port: str = "") -> PodView:
    return PodView("games", "a", "uid-a", 1, {CERTIFICATE: certificate, SAME_PORT: same_port})


def fit(text: str, certificate: str = "", **specs: PortPoolSpec) -> list[str]:
    wants = fitted(parse_ports(text), specs or {"arena": pool_spec()}, pod(certificate))
    return [f"{w.pool} {w.key}" for w in wants]


def refusal(text: str, certificate: str = "", **specs: PortPoolSpec) -> str:
    with pytest.raises(RequestError) as error:
        fit(text, certificate, **specs)
    return str(error.value)


@pytest.mark.row("PP-08")
def test_a_pool_of_segments_gives_whole_ones() -> None:
    arena, lobby = pool_spec(segment_length=4), pool_spec()
    assert fit("7777/UDP@arena+lobby", arena=arena, lobby=lobby) == ["arena 7777-7780/UDP", "lobby 7777/UDP"]
    assert fit("100-103/UDP@arena,200-204/TCP@arena", arena=arena) == ["arena 100-103/UDP", "arena 200-207/TCP"]


@pytest.mark.row("PP-08", "PP-05")
def test_a_segment_that_passes_the_last_port_is_refused_by_name() -> None:
    message = refusal("65533/UDP@arena", arena=pool_spec(segment_length=4))
    assert message == "pool arena gives 4 ports at a time: container ports 65533-65536 go beyond 65535"
    assert fit("65532/UDP@arena", arena=pool_spec(segment_length=4)) == ["arena 65532-65535/UDP"]


@pytest.mark.row("PP-08", "SU-12")
def test_ports_in_a_row_beyond_one_load_balancer_are_refused() -> None:
    assert fit("1-26/UDP@arena", arena=pool_spec(segment_length=25)) == ["arena 1-50/UDP"]
    message = refusal("1-31/UDP@arena", arena=pool_spec(segment_length=30))
    assert message == "pool arena: 60 ports in a row are asked for and a load balancer of the pool has 30"


@pytest.mark.row("SU-12")
def test_ranges_that_no_load_balancers_could_hold_together_are_refused() -> None:
    """In number they would fit three load balancers of 50."""
    ranges = ",".join(f"{100 * n}-{100 * n + 29}/UDP@arena" for n in range(1, 5))
    assert "120 ports are asked for" in refusal(ranges)
    assert len(fit(ranges.rpartition(",")[0])) == 3


@pytest.mark.row("BD-03")
def test_segments_count_as_ports_of_the_pod() -> None:
    spec = pool_spec(segment_length=50)
    text = ",".join(f"{n}/UDP@arena" for n in range(1, 8))
    assert "350 ports are too many" in refusal(text, arena=spec)


@pytest.mark.row("BD-25")
def test_tls_needs_a_certificate_of_the_pod_or_of_the_pool() -> None:
    assert fit("443/TLS@arena", ARN, arena=pool_spec(allowed_certificates=(ARN,))) == ["arena 443/TLS"]
    assert fit("443/TLS@arena", arena=pool_spec(certificate_arn=ARN)) == ["arena 443/TLS"]
    assert refusal("web=443/TLS@arena") == (
        "web asks for TLS and there is no certificate: the pod has no annotation berthmaster.dev/certificate-arn"
        " and pool arena no certificateArn"
    )
    assert fit("443/TCP@arena") == ["arena 443/TCP"]


@pytest.mark.row("BD-25")
@pytest.mark.parametrize(
    "text", ["x", "arn:aws:s3:::bucket", ARN + "\n\x00x", ARN.replace("/", ""), "arn:aws:iam::1:server-certificate/x"]
)
def test_a_certificate_that_can_be_none_is_refused_in_one_line(text: str) -> None:
    message = refusal("443/TLS@arena", text, arena=pool_spec(certificate_arn=ARN))
    assert "is not the ARN of a certificate" in message
    assert message.isprintable()


@pytest.mark.row("BD-25")
@pytest.mark.parametrize(
    "arn",
    [
        ARN,
        ARN.replace("aws:acm:eu-west-1", "aws-cn:acm:cn-north-1"),
        "arn:aws:iam::123456789012:server-certificate/a/b",
    ],
)
def test_certificates_of_acm_and_iam_are_taken(arn: str) -> None:
    assert fit("443/TLS@arena", arn, arena=pool_spec(allowed_certificates=(arn,)))


@pytest.mark.row("HO-11")
def test_a_pod_names_only_a_certificate_that_its_pool_lists_or_has() -> None:
    own, listed, other = ARN, ARN + "2", ARN + "3"
    arena = pool_spec(certificate_arn=own, allowed_certificates=(listed,))
    for certificate in ("", own, listed):
        assert fit("443/TLS@arena", certificate, arena=arena) == ["arena 443/TLS"]
    for spec in (arena, pool_spec(), pool_spec(allowed_certificates=(listed,))):
        message = refusal("443/TLS@arena", other, arena=spec)
        assert message == (
            f"berthmaster.dev/certificate-arn: pool arena does not permit {other}: list it in the pool's"
            " allowedCertificates, or take the annotation off for the pool's own certificateArn"
        )
    assert fit("443/TCP@arena", other) == ["arena 443/TCP"]


@pytest.mark.row("HO-11")
def test_a_certificate_must_be_permitted_by_each_pool_of_the_entry() -> None:
    arena, lobby = pool_spec(allowed_certificates=(ARN,)), pool_spec(certificate_arn=ARN + "2")
    assert "pool lobby does not permit" in refusal("443/TLS@arena+lobby", ARN, arena=arena, lobby=lobby)


@pytest.mark.row("AL-11")
def test_pools_without_a_port_in_common_cannot_give_the_same_one() -> None:
    specs = {"arena": pool_spec(), "lobby": pool_spec(start_port=30990, end_port=40000)}
    wants, asked = parse_ports("rtp=10-19/UDP@arena+lobby, 7777/UDP@arena"), pod(same_port="true")
    assert fitted(wants, specs, asked) == wants
    specs["lobby"] = pool_spec(start_port=30991, end_port=40000)
    with pytest.raises(RequestError) as error:
        fitted(wants, specs, asked)
    assert str(error.value) == (
        "rtp asks for the same port in pools that have none in common: arena 30000-30999, lobby 30991-40000"
    )
    assert fitted(wants, specs, pod()) == wants


@pytest.mark.row("AL-11", "PP-08")
def test_segments_whose_boundaries_never_meet_have_no_port_in_common() -> None:
    even, odd = pool_spec(segment_length=2), pool_spec(segment_length=2, start_port=30001, end_port=30999)
    with pytest.raises(RequestError, match="in pools that have none in common"):
        fitted(parse_ports("1/UDP@even+odd"), {"even": even, "odd": odd}, pod(same_port="true"))


@given(st.text(max_size=20), st.integers(1, 50), st.integers(1, 65535), st.integers(0, 49))
def test_any_request_fits_or_is_refused_in_one_line(certificate: str, segment: int, port: int, more: int) -> None:
    text = f"{port}-{min(65535, port + more)}/TLS@arena"
    specs = {"arena": pool_spec(segment_length=segment, certificate_arn=ARN)}
    try:
        (want,) = fitted(parse_ports(text), specs, pod(certificate))
    except RequestError as error:
        answer = str(error)
    else:
        answer = want.key if want.ports % segment == 0 and want.last <= 65535 else ""
    assert answer
    assert answer.isprintable()
