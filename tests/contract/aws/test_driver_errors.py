"""Each class of error with AWS's real codes, over the wire."""

from __future__ import annotations

from datetime import timedelta

import pytest

from berthmaster.errors import StaleToken, TerminalError, TransientError
from compose.sandbox.free_ports import free_port
from tests.contract.aws.conftest import Driving
from tests.fixtures.aws import REGION, Aws
from tests.support.ports.unlimited import Unlimited
from tests.support.registries import count
from workers.cloud.aws.error_codes import CODES
from workers.cloud.aws.metrics import CALLS
from workers.cloud.aws.nlb import aws_nlb
from workers.cloud.aws.settings import AwsSettings
from workers.cloud.errors import CloudDenied, CloudError, CloudInvalid, CloudUnavailable, Throttled
from workers.cloud.priority import Priority

SERVER_ERRORS = set(CODES[CloudUnavailable])


def samples(code: str) -> float:
    return count(CALLS, action="DescribeTargetHealth", code=code)


@pytest.mark.row("CL-14")
@pytest.mark.parametrize(("code", "kind"), [(code, kind) for kind, codes in CODES.items() for code in codes])
def test_every_code_is_the_error_that_the_table_says(drive: Driving, code: str, kind: type[CloudError]) -> None:
    drive.aws.fault("DescribeTargetHealth", code=code, status=503 if code in SERVER_ERRORS else 400)
    with pytest.raises(kind) as raised:
        drive.api.targets("arn")
    assert type(raised.value) is kind
    assert (raised.value.code, raised.value.action) == (code, "DescribeTargetHealth")
    assert raised.value.reason == f"{code}: ordered by a test"


@pytest.mark.row("CL-14")
def test_a_code_of_no_table_may_have_been_applied(drive: Driving) -> None:
    drive.aws.fault("DescribeTargetHealth", code="SomethingNew", status=400)
    with pytest.raises(CloudUnavailable):
        drive.api.targets("arn")


@pytest.mark.row("CL-14")
def test_only_invalid_is_terminal() -> None:
    assert {kind.__name__ for kind in CODES if issubclass(kind, TerminalError)} == {CloudInvalid.__name__}
    assert all(issubclass(kind, TransientError) for kind in CODES if kind is not CloudInvalid)


@pytest.mark.row("CL-04")
def test_a_throttled_call_is_not_repeated_by_the_client_but_counted(drive: Driving) -> None:
    before = samples("Throttling")
    drive.aws.fault("DescribeTargetHealth", code="Throttling")
    with pytest.raises(Throttled) as raised:
        drive.api.targets("arn")
    assert drive.aws.counts() == {"DescribeTargetHealth": 1}
    assert samples("Throttling") == before + 1
    assert raised.value.retry_after is None  # so that the wait grows and is spread


@pytest.mark.row("FZ-03")
def test_a_denied_delete_is_no_success(drive: Driving) -> None:
    arn = drive.listener(drive.balancer().arn, 30000, drive.group())
    drive.aws.fault("DeleteListener", code="AccessDenied", status=403)
    with pytest.raises(CloudDenied):
        drive.api.delete_listener(arn)


@pytest.mark.usefixtures("aws_server")
def test_an_endpoint_without_server_is_unavailable() -> None:
    settings = AwsSettings(endpoint_url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(CloudUnavailable):
        aws_nlb(settings, REGION, Unlimited()).targets("arn")


def test_an_answer_that_takes_too_long_is_unavailable(aws: Aws) -> None:
    settings = AwsSettings(endpoint_url=aws.endpoint_url, read_timeout=timedelta(milliseconds=50))
    aws.fault("DescribeTargetHealth", delay=0.5)
    with pytest.raises(CloudUnavailable):
        aws_nlb(settings, REGION, Unlimited()).targets("arn")


@pytest.mark.row("EV-09")
def test_a_lost_lease_stops_the_method_before_its_next_call(drive: Driving) -> None:
    asked: list[timedelta] = []

    def keep(at_least: timedelta) -> None:
        asked.append(at_least)
        if len(asked) > 1:
            raise StaleToken("taken over")

    group = drive.group()
    busy = drive.api.on_behalf_of("pod/a/b", Priority.BIND, keep)
    with pytest.raises(StaleToken):
        busy.find_target_group("bm-30000-a")  # describes, then reads tags
    assert drive.aws.counts() == {"CreateTargetGroup": 1, "DescribeTargetGroups": 1}
    assert asked == [drive.aws.settings.call_timeout] * 2
    drive.api.delete_target_group(group)
