"""Load the settings of a command, or end the command with a line for each wrong setting."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from events.setting_names import in_words, names_of, unread
from events.settings import AnySettings, Misconfigured, ProcessSettings, settings_of
from workers.cli.output import say
from workers.settings import WorkerSettings

if TYPE_CHECKING:
    from events.kube.api import KubeApi

MISUSE = 2
SANDBOX: Final = Path(".sandbox", "env")
"""Settings of a sandbox that runs in the current folder. The sandbox deletes the file when it ends."""


def configured() -> WorkerSettings:
    """Return the settings of the worker; see `or_exit`."""
    return or_exit(WorkerSettings)


def or_exit(kind: type[AnySettings]) -> AnySettings:
    """Return the settings of any process.

    If one is missing or wrong, prints which variables and where settings come from, and raises typer.Exit(2).
    """
    try:
        return settings_of(kind)
    except Misconfigured as error:
        say(*str(error).splitlines(), *source(), err=True)
        raise typer.Exit(MISUSE) from None


def unread_settings() -> dict[str, str | None]:
    """Return the `BERTHMASTER_` variables that no process reads, each with the nearest setting, if one is near."""
    return unread({*names_of(WorkerSettings), *names_of(ProcessSettings)}, os.environ)


def warn_of_unread() -> None:
    """Print a line for each variable that no process reads, to standard error."""
    say(*starmap(in_words, unread_settings().items()), err=True)


def source() -> Iterator[str]:
    """Yield where settings come from, and how to get those of a sandbox that runs in the current folder."""
    yield "Settings come from environment variables; docs/reference/settings.md lists them"
    if SANDBOX.is_file():
        yield f"A sandbox runs here. To use its settings in this shell: . {SANDBOX}"


class Unconfigured(Exception):  # noqa: N818 - says what is, not what failed
    """The settings do not say how to reach the Kubernetes API, or they make no sense."""


def kubernetes(settings: WorkerSettings) -> KubeApi:
    """Return a client of the Kubernetes API. Raises Unconfigured."""
    from events.kube.api import KubeApi  # here: loading the client takes half of the time of a probe, which needs none

    try:
        return KubeApi.connect(settings.kubernetes)
    except Exception as error:  # the client raises errors of many types for a missing or wrong kubeconfig
        raise Unconfigured(f"{_kubeconfig(settings)}: {error}") from error


def _kubeconfig(settings: WorkerSettings) -> str:
    """Return the kubeconfig that was read, with the variable that names it."""
    if path := settings.kubernetes.kubeconfig:
        return f"BERTHMASTER_KUBERNETES__KUBECONFIG={path}"
    place = os.environ.get("KUBECONFIG")
    return f"KUBECONFIG={place}" if place else "~/.kube/config"
