"""Load the settings of a command, or end the command with a line for each wrong setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from events.settings import AnySettings, Misconfigured, settings_of
from workers.cli.output import say
from workers.settings import WorkerSettings

if TYPE_CHECKING:
    from events.kube.api import KubeApi

MISUSE = 2


def configured() -> WorkerSettings:
    """Return the settings of the worker. Prints which variables are wrong and raises typer.Exit(2)."""
    return or_exit(WorkerSettings)


def or_exit(kind: type[AnySettings]) -> AnySettings:
    """Return the settings of any process. Prints which variables are wrong and raises typer.Exit(2)."""
    try:
        return settings_of(kind)
    except Misconfigured as error:
        say(*str(error).splitlines(), err=True)
        raise typer.Exit(MISUSE) from None


class Unconfigured(Exception):  # noqa: N818 - says what is, not what failed
    """The settings do not say how to reach the Kubernetes API, or they make no sense."""


def kubernetes(settings: WorkerSettings) -> KubeApi:
    """Return a client of the Kubernetes API. Raises Unconfigured."""
    from events.kube.api import KubeApi  # here: loading the client takes half of the time of a probe, which needs none

    try:
        return KubeApi.connect(settings.kubernetes)
    except Exception as error:  # the client raises errors of many types for a missing or wrong kubeconfig
        raise Unconfigured(str(error)) from error
