"""Settings for a command, or the end of it with a line for each setting that is wrong."""

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
    """Raises typer.Exit(2) after saying which variables are missing or wrong."""
    return or_exit(WorkerSettings)


def or_exit(kind: type[AnySettings]) -> AnySettings:
    """The same for settings of another process."""
    try:
        return settings_of(kind)
    except Misconfigured as error:
        say(*str(error).splitlines(), err=True)
        raise typer.Exit(MISUSE) from None


class Unconfigured(Exception):  # noqa: N818 - says what is, not what failed
    """Nothing says how to reach the Kubernetes API, or what says so makes no sense."""


def kubernetes(settings: WorkerSettings) -> KubeApi:
    """Raises Unconfigured."""
    from events.kube.api import KubeApi  # here: its client takes half of the time of a probe that needs none

    try:
        return KubeApi.connect(settings.kubernetes)
    except Exception as error:  # the client's own kinds: no file, no account, no sense
        raise Unconfigured(str(error)) from error
