"""The driver on listeners: one a port, adopted when it is the one asked for, never taken from another."""

from __future__ import annotations

import pytest

from tests.contract.aws.conftest import MINE, Driven, Driving, Maker
from workers.cloud.errors import CloudInvalid, CloudNotFound, CloudUnavailable, PortTaken, QuotaExceeded

CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0be47a57"


def test_a_created_listener_carries_its_tags_from_the_start(cloud: Driven) -> None:
    balancer, group = cloud.balancer(), cloud.group()
    arn = cloud.listener(balancer.arn, 30000, group)
    [found] = cloud.api.listeners(balancer.arn)
    assert (found.arn, found.port, found.protocol, found.target_group_arn) == (arn, 30000, "TCP", group)
    assert (found.tags, found.load_balancer_arn) == (MINE, balancer.arn)


@pytest.mark.row("AL-04")
@pytest.mark.parametrize("protocol", ["TCP", "UDP", "TCP_UDP"])
def test_every_protocol_has_its_listener(cloud: Driven, protocol: str) -> None:
    balancer, group = cloud.balancer(), cloud.group(protocol=protocol)
    cloud.listener(balancer.arn, 30000, group, protocol)
    found = cloud.api.find_listener(balancer.arn, 30000)
    assert found
    assert found.protocol == protocol


@pytest.mark.row("BD-17", "BD-18")
@pytest.mark.parametrize("lose", ["error", "cut"])
def test_a_create_with_a_lost_answer_makes_one_listener(drive: Driving, lose: str) -> None:
    balancer, group = drive.balancer(), drive.group()
    drive.aws.fault("CreateListener", lose=lose)
    with pytest.raises(CloudUnavailable):
        drive.listener(balancer.arn, 30000, group)
    arn = drive.listener(balancer.arn, 30000, group)
    assert [each.arn for each in drive.api.listeners(balancer.arn)] == [arn]


@pytest.mark.row("AL-03")
def test_a_port_with_another_listener_is_taken(drive: Driving, make: Maker) -> None:
    balancer = drive.balancer()
    foreign = make.listener(balancer.arn, 30000, make.group("foreign"))
    with pytest.raises(PortTaken):
        drive.listener(balancer.arn, 30000, drive.group())
    found = drive.api.find_listener(balancer.arn, 30000)
    assert found
    assert (found.arn, found.tags) == (foreign, {})


@pytest.mark.row("PP-06", "PP-07")
def test_the_fifty_first_listener_is_a_quota_and_foreign_ones_count(drive: Driving, make: Maker) -> None:
    balancer, group = drive.balancer(), make.group("foreign")
    for port in range(1, 51):
        make.listener(balancer.arn, port, group)
    with pytest.raises(QuotaExceeded) as refused:
        drive.listener(balancer.arn, 51, drive.group())
    assert refused.value.code == "TooManyListeners"
    assert len(drive.api.listeners(balancer.arn)) == 50


@pytest.mark.row("CL-07")
def test_listeners_of_all_pages_are_seen_with_their_tags(drive: Driving) -> None:
    drive.aws.change(page_size=7)
    balancer = drive.balancer()
    for port in range(30000, 30045):
        drive.listener(balancer.arn, port, drive.group(f"bm-{port}"))
    found = drive.api.listeners(balancer.arn)
    assert [each.port for each in found] == list(range(30000, 30045))
    assert all(each.tags == MINE for each in found)
    last = drive.api.find_listener(balancer.arn, 30044)
    assert last
    assert last.tags == MINE


@pytest.mark.row("BD-19")
def test_a_port_without_listener_has_none(cloud: Driven) -> None:
    assert cloud.api.find_listener(cloud.balancer().arn, 30000) is None


@pytest.mark.row("BD-20")
def test_a_load_balancer_that_is_gone_is_told_apart_from_a_group_that_is_gone(cloud: Driven) -> None:
    balancer, group = cloud.balancer(), cloud.group()
    cloud.api.delete_target_group(group)
    with pytest.raises(CloudNotFound) as no_group:
        cloud.listener(balancer.arn, 30000, group)
    cloud.api.delete_load_balancer(balancer.arn)
    with pytest.raises(CloudNotFound) as no_balancer:
        cloud.listener(balancer.arn, 30000, group)
    assert (no_group.value.code, no_balancer.value.code) == ("TargetGroupNotFound", "LoadBalancerNotFound")
    with pytest.raises(CloudNotFound):
        cloud.api.listeners(balancer.arn)


def test_a_group_of_another_protocol_is_invalid(cloud: Driven) -> None:
    balancer, group = cloud.balancer(), cloud.group(protocol="UDP")
    with pytest.raises(CloudInvalid):
        cloud.listener(balancer.arn, 30000, group, "TCP")


@pytest.mark.row("BD-25")
def test_a_tls_listener_has_its_certificate_and_a_tcp_group(cloud: Driven) -> None:
    balancer, group = cloud.balancer(), cloud.group()
    arn = cloud.listener(balancer.arn, 30000, group, "TLS", CERTIFICATE)
    [found] = cloud.api.listeners(balancer.arn)
    assert (found.arn, found.protocol, found.certificate) == (arn, "TLS", CERTIFICATE)


@pytest.mark.row("BD-25")
def test_another_certificate_changes_the_listener_and_the_same_one_costs_no_change(drive: Driving) -> None:
    balancer, group = drive.balancer(), drive.group()
    arn = drive.listener(balancer.arn, 30000, group, "TLS", CERTIFICATE)
    assert drive.listener(balancer.arn, 30000, group, "TLS", CERTIFICATE) == arn
    assert "ModifyListener" not in drive.aws.counts()
    assert drive.listener(balancer.arn, 30000, group, "TLS", CERTIFICATE + "2") == arn
    [found] = drive.api.listeners(balancer.arn)
    assert (found.arn, found.certificate) == (arn, CERTIFICATE + "2")


@pytest.mark.row("BD-25")
@pytest.mark.parametrize(("protocol", "certificate"), [("TLS", ""), ("TCP", CERTIFICATE)])
def test_a_certificate_belongs_to_tls_and_tls_to_a_certificate(cloud: Driven, protocol: str, certificate: str) -> None:
    with pytest.raises(CloudInvalid):
        cloud.listener(cloud.balancer().arn, 30000, cloud.group(), protocol, certificate)


@pytest.mark.row("BD-25")
def test_a_certificate_that_is_not_there_is_invalid(drive: Driving) -> None:
    balancer, elsewhere = drive.balancer(), CERTIFICATE.replace("us-east-1", "us-east-2")
    with pytest.raises(CloudInvalid) as refused:
        drive.listener(balancer.arn, 30000, drive.group(), "TLS", elsewhere)
    assert refused.value.code == "CertificateNotFound"


@pytest.mark.row("FZ-02")
def test_deleting_what_is_gone_succeeds(drive: Driving) -> None:
    arn = drive.listener(drive.balancer().arn, 30000, drive.group())
    drive.api.delete_listener(arn)
    drive.api.delete_listener(arn)
    assert drive.aws.refusals() == {"DeleteListener ListenerNotFound": 1}


@pytest.mark.row("BD-24")
def test_two_ports_of_a_pod_are_two_listeners_and_two_groups(cloud: Driven) -> None:
    balancer = cloud.balancer()
    groups = [cloud.group(f"bm-{port}", port=port - 23000) for port in (30000, 30001)]
    arns = {cloud.listener(balancer.arn, 30000 + n, group) for n, group in enumerate(groups)}
    assert (len(arns), len(set(groups))) == (2, 2)
