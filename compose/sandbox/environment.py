"""The variables by which every process of the sandbox finds the others, and nobody outside."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

CLUSTER: Final = "sandbox"
REGION: Final = "us-east-1"
MARK: Final = "BERTHMASTER_SANDBOX"
"""In the environment of every process of a sandbox: its directory."""
OUTSIDE: Final = ("AWS_", "BERTHMASTER_", "CELERY_", "FLOWER_", "KUBECONFIG")
"""Beginnings of variables that point to a cluster, a Redis or an account of the user, or change how we work."""
LOOPBACK: Final = "127.0.0.1,localhost"


def cut_off(environ: MutableMapping[str, str]) -> None:
    """The sandbox must not touch what the user has elsewhere, and no proxy stands between its processes."""
    for name in [name for name in environ if name.upper().startswith(OUTSIDE)]:
        del environ[name]
    environ["NO_PROXY"] = environ["no_proxy"] = LOOPBACK


def variables(directory: Path, redis: str, kubeconfig: Path, aws: str) -> dict[str, str]:
    """Addresses and credentials, for our processes and for whoever looks in with kubectl, aws or berthmaster."""
    return {
        MARK: str(directory),
        "KUBECONFIG": str(kubeconfig),
        "BERTHMASTER_CLUSTER": CLUSTER,
        "BERTHMASTER_REDIS__URL": redis,
        "BERTHMASTER_BROKER__URL": redis,
        "BERTHMASTER_KUBERNETES__KUBECONFIG": str(kubeconfig),
        "BERTHMASTER_AWS__ENDPOINT_URL": aws,
        "AWS_ENDPOINT_URL": aws,
        "AWS_ACCESS_KEY_ID": "sandbox",
        "AWS_SECRET_ACCESS_KEY": "sandbox",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def write(path: Path, values: Mapping[str, str]) -> None:
    """A file to read with `.` in a shell, which then finds the `berthmaster` of this very environment."""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in values.items()]
    path.write_text("".join([*lines, f'export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"\n']))
