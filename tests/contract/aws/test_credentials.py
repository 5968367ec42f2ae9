"""Credentials: the chain of any AWS tool, so that a pod's role is enough and no key is stored anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.aws import REGION, Aws

ASK = f"""
import sys
from workers.cloud.aws.nlb import aws_nlb
from tests.support.ports.unlimited import Unlimited
from workers.cloud.aws.settings import AwsSettings
print(aws_nlb(AwsSettings(endpoint_url=sys.argv[1]), "{REGION}", Unlimited()).find_owned_load_balancers("blue"))
"""


def asked(aws: Aws, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process that lists load balancers, without keys in its environment or home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    env = kept | {"AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"} | variables
    command = [sys.executable, "-c", ASK, aws.endpoint_url]
    return subprocess.run(command, env=env, check=False, capture_output=True, text=True)


@pytest.mark.row("CL-16")
def test_a_service_account_with_a_role_needs_no_key(aws: Aws, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a token of the cluster")
    done = asked(
        aws,
        AWS_ROLE_ARN="arn:aws:iam::123456789012:role/berthmaster",
        AWS_ROLE_SESSION_NAME="worker",
        AWS_WEB_IDENTITY_TOKEN_FILE=str(token),
        AWS_ENDPOINT_URL_STS=aws.endpoint_url,
        AWS_DEFAULT_REGION=REGION,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
    assert aws.counts() == {"DescribeLoadBalancers": 1}


@pytest.mark.row("CL-16")
def test_no_credentials_at_all_is_denied_and_not_a_crash(aws: Aws) -> None:
    done = asked(aws)
    assert "workers.cloud.errors.CloudDenied: DescribeLoadBalancers: NoCredentialsError" in done.stderr
    assert aws.counts() == {}
