"""`berthmaster doctor`: check everything that Berthmaster depends on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from domain.visible import visible_line
from events.setting_names import in_words
from events.settings import ProcessSettings
from workers.cli.check import Check
from workers.cli.checks import broker_checks, redis_checks
from workers.cli.configured import Unconfigured, configured, kubernetes, or_exit, unread_settings
from workers.cli.output import console, say_json
from workers.cli.permissions import Account
from workers.cli.process_checks import process_checks

if TYPE_CHECKING:
    from workers.settings import WorkerSettings

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table")]
For = Annotated[Account, typer.Option("--for", help="The process whose Kubernetes permissions this account needs")]


def doctor(as_json: AsJson = False, process: For = Account.WORKER) -> None:
    """Check Redis, broker, our processes, Kubernetes (our kinds and permissions) and AWS.

    Exit status 1 if a check fails; a warning leaves it at 0.
    """
    out, checks = console(), []
    for check in examine(configured(), process):
        checks.append(check)
        if not as_json:
            out.print(line(check))
    if as_json:
        say_json([check.document() for check in checks])
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def examine(settings: WorkerSettings, process: Account) -> Iterator[Check]:
    """Run the checks one by one, so that the first lines are visible while a later check times out."""
    from workers.wiring.process import fleet_of  # here: it knows every client, which take long to load

    yield from unknown_settings()
    yield from redis_checks(settings.redis, lambda: fleet_of(settings))
    yield from broker_checks(settings)
    yield from process_checks(settings)
    try:
        kube = kubernetes(settings)
    except Unconfigured as error:
        yield Check("Kubernetes is configured", ok=False, finding=str(error))
        return
    from workers.cli.cloud_checks import cloud_checks  # here: the clients take longer than most commands
    from workers.cli.cluster_checks import cluster_checks
    from workers.cli.lease_check import lease_checks

    yield from cluster_checks(kube, process)
    yield from lease_checks(kube, or_exit(ProcessSettings).publisher.lease)
    if process is Account.WORKER:
        yield from cloud_checks(kube, settings.providers)


def unknown_settings() -> Iterator[Check]:
    """Warn about settings that nobody reads. One that is surely mistyped is an error of every command."""
    if unknown := unread_settings():
        finding = ". ".join(starmap(in_words, unknown.items()))
        yield Check("Settings are known", ok=True, finding=finding, warns=True)


def line(check: Check) -> Text:
    """Return a check as a coloured line."""
    mark = ("ok  ", "green") if check.ok else ("fail", "red")
    mark = ("warn", "yellow") if check.ok and check.warns else mark
    return Text.assemble(mark, visible_line(f" {check.name}: {check.finding}"))
