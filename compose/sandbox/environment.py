"""The environment of the sandbox's processes: they find each other, and nothing outside."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

CLUSTER: Final = "sandbox"
REGION: Final = "us-east-1"
MARK: Final = "BERTHMASTER_SANDBOX"
"""Variable with the directory of the sandbox, in the environment of each of its processes."""
OUTSIDE: Final = ("AWS_", "BERTHMASTER_", "CELERY_", "FLOWER_", "KUBECONFIG")
"""Prefixes of variables that point to a cluster, Redis or account of the user, or that configure us."""
LOOPBACK: Final = "127.0.0.1,localhost"


def cut_off(environ: MutableMapping[str, str]) -> None:
    """Remove variables that point to the user's own systems, and bypass proxies between the processes."""
    for name in [name for name in environ if name.upper().startswith(OUTSIDE)]:
        del environ[name]
    environ["NO_PROXY"] = environ["no_proxy"] = LOOPBACK


def variables(directory: Path, redis: str, kubeconfig: Path, aws: str) -> dict[str, str]:
    """Return addresses and credentials for our processes, and for people who use kubectl, aws or berthmaster."""
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


def fleet_page(login: Mapping[str, str]) -> str | None:
    """Return the line that leads people to the fleet's page, None without Flower. `login`: url, user, password."""
    return "the fleet: {url}/fleet (user {user}, password {password})".format(**login) if login else None


def write(path: Path, values: Mapping[str, str], note: str | None = None) -> None:
    """Write a file to source in a shell, which then finds the `berthmaster` of this virtual environment.

    `note`: a line for people, which is a comment of the file.
    """
    lines = [f"# {note}\n"] if note else []
    lines += [f"export {name}={shlex.quote(value)}\n" for name, value in values.items()]
    path.write_text("".join([*lines, f'export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"\n']))
