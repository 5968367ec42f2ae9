"""`berthmaster migrate NAMESPACE/CLAIM --to POD`, and why a claim is as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from berthmaster.kinds import POD_CLAIM
from berthmaster.redis.outage import OUTAGE
from domain.kubernetes.objects import KubeObject
from domain.spec_errors import spec_problem
from events.kube.api import Conflict, KubeApi, KubeError
from workers.cli.configured import MISUSE, Unconfigured, configured, kubernetes
from workers.cli.doctor import AsJson
from workers.cli.explain import MOST_ROWS, run_in_words
from workers.cli.jobs import refused
from workers.cli.output import console, say, say_json
from workers.cli.troubles import in_words

if TYPE_CHECKING:
    from workers.claims.explain import ClaimExplanation
    from workers.claims.services import ClaimServices
    from workers.wiring.process import Services

Json = dict[str, Any]
T = TypeVar("T")
Claim = Annotated[str, typer.Argument(metavar="NAMESPACE/CLAIM")]
To = Annotated[str, typer.Option("--to", metavar="POD", help="the pod that it shall move to")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only says whether it could; nothing is changed")]
CLAIMS = POD_CLAIM.collection()
COLUMNS = ("name", "phase", "pod", "node", "owner", "move", "why")


def migrate(name: Claim, to: To, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Moves a claim to another free pod; exit status 1 if it cannot have that one, with the reason."""
    told = ask(name, "CLAIM", lambda parts, namespace, short: _moved(parts.claims, namespace, short, to, dry_run))
    if told is None:
        raise refused(f"there is no PodClaim {name}")
    if as_json:
        say_json(told)
    elif not told["why"]:
        did = "would move" if dry_run else "is asked to move"
        say(f"{name} {did} from {told['source']} to {to}")
    if told["why"]:
        raise refused(f"{name} cannot move to {to}: {told['why']}")


def _moved(services: ClaimServices, namespace: str, name: str, target: str, dry_run: bool) -> Json | None:
    from workers.claims.explain import why_not

    found = services.claims.read(namespace, name)
    if found is None:
        return None
    why = why_not(services, namespace, found, target)
    if not why and not dry_run:
        try:
            services.claims.move(found, target)
        except Conflict:
            why = "the claim has just changed: ask again"
    source = found.spec.get("podName") or ""
    return {
        "claim": f"{namespace}/{name}",
        "source": source,
        "target": target,
        "asked": not (why or dry_run),
        "why": why,
    }


def claim(name: Claim, as_json: AsJson = False) -> None:
    """What a claim has, what its next run does, and why it cannot have the pods that there are."""
    from workers.claims.explain import explain_claim
    from workers.claims.explain import in_words as step_in_words

    told = ask(name, "CLAIM", lambda parts, namespace, short: explain_claim(parts.claims, namespace, short))
    if told is None:
        raise refused(f"there is no PodClaim {name}")
    if as_json:
        say_json(document(told, step_in_words(told.step)))
        return
    say(*lines(told, step_in_words(told.step)))
    if told.candidates:
        console().print(_table(told))


def document(told: ClaimExplanation, step: str) -> Json:
    """The same for programs."""
    rest = {"pods": dict(told.pods), "next": step, "ahead": told.ahead, "nominated": told.nominated}
    seen = {"name": told.name, **summary(told.claim), "conditions": conditions(told.claim)}
    return {**seen, **rest, "candidates": [asdict(each) for each in told.candidates], "run": told.run._asdict()}


def lines(told: ClaimExplanation, step: str) -> Iterator[str]:
    seen = summary(told.claim)
    where = f" on {seen['pod']}" if seen["pod"] else ""
    yield f"{told.name}: {seen['phase'] or 'no worker has looked at it yet'}{where}"
    for each in conditions(told.claim):
        yield f"  {each['type']}: {each['reason']}{', ' + each['message'] if each['message'] else ''}"
    yield f"  pods with its label: {', '.join(f'{pod} ({phase})' for pod, phase in told.pods) or 'none'}"
    yield f"  next: {step}; run: {run_in_words(told.run)}"
    if told.ahead >= 0:
        grows = f"; pool {told.nominated} grows for it" if told.nominated else "; no pool grows for it"
        yield f"  waits, behind {told.ahead} claims{grows}"


def _table(told: ClaimExplanation) -> Table:
    table = Table("pod", "pool", "phase", "why not")
    for each in told.candidates[:MOST_ROWS]:
        table.add_row(*(each.pod, each.pool, each.phase, each.why or "-"))
    if len(told.candidates) > MOST_ROWS:
        table.add_row(f"... and {len(told.candidates) - MOST_ROWS} more")
    return table


def conditions(found: KubeObject) -> list[Json]:
    """Of a claim, or a set; that its spec is valid goes without saying."""
    return [each for each in found.conditions if each["type"] != "Valid" or each["status"] == "False"]


def claims(kube: KubeApi) -> list[Json]:
    """As their status says, sorted. Raises KubeError."""
    return sorted(
        (summary(KubeObject(each)) for each in kube.list(CLAIMS)["items"]), key=lambda each: str(each["name"])
    )


def summary(found: KubeObject) -> Json:
    spec, seen = found.spec, found.status
    move = seen.get("migration") or {}
    wrong = next(
        (each["message"] for each in found.conditions if each["status"] == "False" and each["type"] != "Moved"),
        "",
    )
    return {
        "name": f"{found.namespace}/{found.name}",
        "phase": seen.get("phase") or "",
        "pod": spec.get("podName") or "",
        "node": spec.get("nodeName") or "",
        "owner": spec.get("ownerName") or "",
        "move": f"{move['source']} -> {move['target']}: {move['progress']}" if move else "",
        "why": wrong,
    }


def show(out: Console, found: list[Json]) -> None:
    """For `berthmaster status`."""
    table = Table("claim", *COLUMNS[1:])
    for each in found:
        table.add_row(*(str(each[name]) for name in COLUMNS))
    out.print(table)


def ask(name: str, what: str, question: Callable[[Services, str, str], T]) -> T:
    """Of one claim, or one set. Raises typer.Exit with what is wrong on standard error."""
    if name.count("/") != 1 or not all(name.split("/")):
        say(f"name the {what.lower()} as NAMESPACE/{what}", err=True)
        raise typer.Exit(MISUSE)
    from workers.wiring.process import build  # here: it needs every client, which takes longer than most commands

    settings = configured()
    try:
        kubernetes(settings)
        namespace, short = name.split("/")
        return question(build(settings), namespace, short)
    except ValidationError as error:
        raise refused(f"{name}: the spec is not valid: {spec_problem(error)}") from None
    except (*OUTAGE, KubeError, Unconfigured) as error:
        raise refused(in_words(error)) from None
