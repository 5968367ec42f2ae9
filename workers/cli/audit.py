"""`berthmaster audit`: compare AWS, the ledgers and the pods, and repair the differences on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from berthmaster.errors import TerminalError, TransientError
from berthmaster.redis.outage import OUTAGE
from domain.port_audit.difference import Difference
from domain.port_audit.plan import plan
from domain.quantity import quantity
from events.kube.api import KubeError
from workers.cli.configured import Unconfigured, configured, kubernetes
from workers.cli.doctor import AsJson
from workers.cli.output import console, say, say_json
from workers.cli.progress import Progress
from workers.cli.troubles import in_words
from workers.telemetry.logs import set_up

if TYPE_CHECKING:
    from workers.cloud.provider import CloudProvider
    from workers.port_audit.observe import AuditObservation
    from workers.port_services import PortServices
    from workers.settings import WorkerSettings

Fix = Annotated[bool, typer.Option("--fix", help="Repair, once, the differences in what belongs to us")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="With --fix: show what it would do; change nothing")]
Only = Annotated[
    list[str] | None, typer.Option("--port-pool", help="Audit only this port pool; may be given several times")
]
Targets = Annotated[int, typer.Option(min=0, help="Compare the targets of at most this many target groups a port pool")]
DONE = "done, or in progress"
COLUMNS = ("port pool", "load balancer", "port", "kind", "pod", "what", "repair")


@dataclass
class AuditReport:
    """The result of an audit.

    `outcomes`: what happens to each difference, '' if it is only reported. `targets`: by pool, how many target groups
    were compared.
    """

    outcomes: dict[Difference, str] = field(default_factory=dict)
    open: int = 0
    targets: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        """Return the differences for `--json`."""
        names = ("pool", "lb", "port", "kind", "owner", "detail", "arn", "target")
        rows = ((difference, {name: getattr(difference, name) for name in names}) for difference in self.outcomes)
        return [row | {"remedy": str(item.remedy), "outcome": self.outcomes[item]} for item, row in rows]


def audit(
    as_json: AsJson = False, fix: Fix = False, dry_run: DryRun = False, port_pool: Only = None, targets: Targets = 200
) -> None:
    """Compare AWS, ledgers and pods. Exit status 1 if a difference remains or something cannot be read."""
    report = AuditReport()
    try:
        settings = configured()
        with Progress("audit", lambda: calls_so_far(settings.providers)) as progress:
            _examine(settings, report, port_pool or [], targets, _Pass(fix, dry_run), progress)
    except (*OUTAGE, KubeError, Unconfigured, TransientError, TerminalError) as error:
        report.problems.append(in_words(error))
    if as_json:
        document = {"differences": report.rows(), "targets": report.targets, "problems": report.problems}
        say_json(document)
    else:
        show(report)
    if report.open or report.problems:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Pass:
    fix: bool
    dry: bool


def calls_so_far(providers: Sequence[CloudProvider]) -> str:
    """The calls of this process by provider, for the line of progress."""
    return ", ".join(quantity(provider.calls(), f"{provider.rules.title} call") for provider in providers)


def _examine(
    settings: WorkerSettings, report: AuditReport, only: list[str], targets: int, how: _Pass, progress: Progress
) -> None:
    from workers.port_audit.observe import live_pods_of, observe
    from workers.wiring.process import build  # here: it needs every client, which takes longer than most commands

    set_up(settings.log)
    kubernetes(settings)
    services = build(settings).ports
    names = [name for name in services.pool_names.all() if not only or name in only]
    report.problems += [f"no PortPool {name} is known" for name in only if name not in names]
    progress.at("reading the pods")
    pods = live_pods_of(services.pods.all()) if names else {}
    for number, name in enumerate(names, 1):
        progress.at(
            f"port pool {name} ({number} of {len(names)}), up to {quantity(targets, 'target group')} one by one"
        )
        try:
            observed = observe(services, name, lambda: pods, targets, who="audit-by-hand")
        except (TransientError, TerminalError) as error:
            report.problems.append(f"port pool {name}: {error}")
            continue
        if observed:
            report.targets[name] = observed.targets
            report.outcomes |= _outcomes(services, name, observed, how)
    report.open = sum(outcome != DONE for outcome in report.outcomes.values())


def _outcomes(services: PortServices, pool: str, observed: AuditObservation, how: _Pass) -> dict[Difference, str]:
    from workers.port_audit.reconciler import dry_run, repair

    repair_plan = plan(observed.comparison)
    if not how.fix:
        return dict.fromkeys(sorted(repair_plan), "")
    if how.dry:
        remedies = dry_run(services, pool, repair_plan)
        return {difference: f"would: {remedies[difference]}" for difference in sorted(repair_plan)}
    unrepaired = repair(services, pool, observed, repair_plan)
    return {difference: unrepaired.get(difference, DONE) for difference in sorted(repair_plan)}


def show(report: AuditReport) -> None:
    """Print the report. Without a comparison it prints problems only, and no number of differences."""
    out = console()
    if report.outcomes:
        out.print(_table(report))
    if report.targets or not report.problems:
        looked = ", ".join(f"{name} {number}" for name, number in report.targets.items())
        out.print(f"{quantity(len(report.outcomes), 'difference')}; target groups compared: {looked or 'none'}")
    for problem in report.problems:
        say(problem, err=True)


def _table(report: AuditReport) -> Table:
    table = Table(*COLUMNS)
    for difference, outcome in report.outcomes.items():
        port = str(difference.port) if difference.port else "-"
        cells = (
            difference.pool,
            difference.lb,
            port,
            difference.kind,
            difference.owner or "-",
            difference.detail,
            outcome or difference.remedy,
        )
        table.add_row(*(str(cell) for cell in cells))
    return table
