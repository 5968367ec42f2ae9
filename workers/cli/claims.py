"""`berthmaster migrate NAMESPACE/CLAIM --to POD` and `berthmaster explain claim`: why a claim is in its state."""

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
from domain.claims.labels import stamp
from domain.kubernetes.objects import KubeObject
from domain.quantity import quantity
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
To = Annotated[str, typer.Option("--to", metavar="POD", help="The pod to move the claim to")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show whether the claim could move; change nothing")]
CLAIMS = POD_CLAIM.collection()
COLUMNS = ("name", "phase", "pod", "node", "owner", "move", "why")


def migrate(name: Claim, to: To, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Move a claim to another free pod. Exit status 1, with the reason, if the claim cannot have that pod."""
    move = ask(name, "CLAIM", lambda parts, namespace, short: _moved(parts.claims, namespace, short, to, dry_run))
    if move is None:
        raise refused(f"there is no PodClaim {name}")
    if as_json:
        say_json(move)
    elif not move["why"]:
        did = "would move" if dry_run else "is asked to move"
        say(f"{name} {did} from {move['source']} to {to}")
    if move["why"]:
        raise refused(f"{name} cannot move to {to}: {move['why']}")


def _moved(services: ClaimServices, namespace: str, name: str, target: str, dry_run: bool) -> Json | None:
    from workers.claims.explain import why_not

    claim_object = services.claims.read(namespace, name)
    if claim_object is None:
        return None
    why = why_not(services, namespace, claim_object, target)
    if not why and not dry_run:
        try:
            services.claims.move(claim_object, target)
        except Conflict:
            why = "the claim has just changed: ask again"
    source = claim_object.spec.get("podName") or ""
    return {
        "claim": f"{namespace}/{name}",
        "source": source,
        "target": target,
        "asked": not (why or dry_run),
        "why": why or "",
    }


def claim(name: Claim, as_json: AsJson = False) -> None:
    """Show what a claim has, what its next run does, and why it cannot have each of the pods."""
    from workers.claims.explain import explain_claim
    from workers.claims.explain import in_words as step_in_words

    explanation = ask(name, "CLAIM", lambda parts, namespace, short: explain_claim(parts.claims, namespace, short))
    if explanation is None:
        raise refused(f"there is no PodClaim {name}")
    if as_json:
        say_json(document(explanation, step_in_words(explanation.step)))
        return
    say(*lines(explanation, step_in_words(explanation.step)))
    if explanation.candidates:
        console().print(_table(explanation))


def document(explanation: ClaimExplanation, step: str) -> Json:
    """Return the explanation for `--json`."""
    rest = {
        "pods": dict(explanation.pods),
        "endpoints": endpoints(explanation.claim),
        "next": step,
        "expires": stamp(explanation.expiry) if explanation.expiry else "",
        "ahead": -1 if explanation.ahead is None else explanation.ahead,
        "nominated": explanation.nominated or "",
    }
    head = {"name": explanation.name, **summary(explanation.claim), "conditions": conditions(explanation.claim)}
    return {
        **head,
        **rest,
        "candidates": [
            asdict(candidate) | {"pool": candidate.pool or "", "why": candidate.why or ""}
            for candidate in explanation.candidates
        ],
        "run": explanation.run._asdict(),
    }


def lines(explanation: ClaimExplanation, step: str) -> Iterator[str]:
    """Yield the explanation as lines for people."""
    row = summary(explanation.claim)
    where = f" on {row['pod']}" if row["pod"] else ""
    yield f"{explanation.name}: {row['phase'] or 'no worker has reconciled it yet'}{where}"
    yield from condition_lines(explanation.claim)
    yield f"  pods with its label: {', '.join(f'{pod} ({phase})' for pod, phase in explanation.pods) or 'none'}"
    if shown := endpoints(explanation.claim):
        yield f"  endpoints: {', '.join(shown)}"
    yield f"  next: {step}; run: {run_in_words(explanation.run)}"
    if explanation.expiry:
        yield f"  expires: {stamp(explanation.expiry)}, unless it is renewed"
    if explanation.ahead is not None:
        grows = f"; pool {explanation.nominated} grows for it" if explanation.nominated else "; no pool grows for it"
        yield f"  waits, behind {quantity(explanation.ahead, 'claim')}{grows}"


def _table(explanation: ClaimExplanation) -> Table:
    table = Table("pod", "pool", "phase", "why not")
    for candidate in explanation.candidates[:MOST_ROWS]:
        table.add_row(*(candidate.pod, candidate.pool or "-", candidate.phase, candidate.why or "-"))
    if len(explanation.candidates) > MOST_ROWS:
        table.add_row(f"... and {len(explanation.candidates) - MOST_ROWS} more")
    return table


def endpoints(resource: KubeObject) -> list[str]:
    """Return the addresses of a claim's public endpoints."""
    return [endpoint["address"] for endpoint in resource.status.get("endpoints") or ()]


def conditions(resource: KubeObject) -> list[Json]:
    """Return the conditions of a claim or a claim set, without `Valid` where it is true."""
    return [
        condition for condition in resource.conditions if condition["type"] != "Valid" or condition["status"] == "False"
    ]


def condition_lines(resource: KubeObject) -> Iterator[str]:
    """Yield a line for each condition."""
    for condition in conditions(resource):
        message = f", {condition['message']}" if condition["message"] else ""
        yield f"  {condition['type']}: {condition['reason']}{message}"


def claims(kube: KubeApi) -> list[Json]:
    """Return all claims as rows of `status`, sorted by name. Raises KubeError."""
    return sorted((summary(KubeObject(item)) for item in kube.list(CLAIMS)["items"]), key=lambda row: str(row["name"]))


def summary(resource: KubeObject) -> Json:
    """Return a claim as a row of `status`."""
    spec, status = resource.spec, resource.status
    move = status.get("migration") or {}
    wrong = next(
        (
            condition["message"]
            for condition in resource.conditions
            if condition["status"] == "False" and condition["type"] != "Moved"
        ),
        "",
    )
    return {
        "name": f"{resource.namespace}/{resource.name}",
        "phase": status.get("phase") or "",
        "pod": spec.get("podName") or "",
        "node": spec.get("nodeName") or "",
        "owner": spec.get("ownerName") or "",
        "move": f"{move['source']} -> {move['target']}: {move['progress']}" if move else "",
        "why": wrong,
    }


def show(out: Console, rows: list[Json]) -> None:
    """Print the table of claims of `berthmaster status`."""
    table = Table("claim", *COLUMNS[1:])
    for row in rows:
        table.add_row(*(str(row[name]) for name in COLUMNS))
    out.print(table)


def parts_or_exit(name: str, what: str) -> tuple[str, str]:
    """Return namespace and name. Prints what is wrong and raises typer.Exit."""
    if name.count("/") != 1 or not all(name.split("/")):
        say(f"name the {what.lower()} as NAMESPACE/{what}", err=True)
        raise typer.Exit(MISUSE)
    namespace, short = name.split("/")
    return namespace, short


def ask(name: str, what: str, question: Callable[[Services, str, str], T]) -> T:
    """Ask our services about one claim or claim set. Prints what is wrong to standard error and raises typer.Exit."""
    namespace, short = parts_or_exit(name, what)
    from workers.wiring.process import build  # here: it needs every client, which takes longer than most commands

    settings = configured()
    try:
        kubernetes(settings)
        return question(build(settings), namespace, short)
    except ValidationError as error:
        raise refused(f"{name}: the spec is not valid: {spec_problem(error)}") from None
    except (*OUTAGE, KubeError, Unconfigured) as error:
        raise refused(in_words(error)) from None
