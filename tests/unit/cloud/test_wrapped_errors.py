"""An error of AWS is found again however it was wrapped, and of several the one that a person must mend."""

from __future__ import annotations

import pytest

from berthmaster.errors import TransientError
from workers.cloud.errors import (
    Busy,
    CloudDenied,
    CloudError,
    CloudInvalid,
    CloudUnavailable,
    Throttled,
    cloud_error_in,
)

DENIED = CloudDenied("CreateListener", "AccessDenied", "no")
INVALID = CloudInvalid("RegisterTargets", "InvalidTarget", "no")
BUSY = Busy("DeleteTargetGroup", "ResourceInUse", "in use")
THROTTLED = Throttled("CreateListener", "Throttling", "slowly")


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.row("BD-30")
@pytest.mark.parametrize("error", [DENIED, INVALID, BUSY, THROTTLED])
def test_a_wrapped_error_is_found(error: CloudError) -> None:
    once = caused(TransientError("cannot be released"), error)
    assert cloud_error_in(error) is error
    assert cloud_error_in(once) is error
    assert cloud_error_in(caused(ValueError("odd"), once)) is error
    assert cloud_error_in(ExceptionGroup("two ports", [ValueError("odd"), ExceptionGroup("one", [error])])) is error


@pytest.mark.row("BD-30")
@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ([THROTTLED, BUSY], BUSY),
        ([BUSY, THROTTLED, DENIED], DENIED),
        ([CloudUnavailable("CreateListener", "InternalFailure", ""), INVALID], INVALID),
        ([THROTTLED], THROTTLED),
    ],
)
def test_of_joined_errors_the_one_to_mend_is_told(errors: list[Exception], told: CloudError) -> None:
    assert cloud_error_in(ExceptionGroup("joined", errors)) is told
    assert cloud_error_in(caused(TransientError("wrapped"), ExceptionGroup("joined", errors[::-1]))) is told


@pytest.mark.row("BD-30")
def test_an_error_that_has_nothing_to_do_with_aws_is_none() -> None:
    assert cloud_error_in(caused(TransientError("x"), KeyError("y"))) is None
