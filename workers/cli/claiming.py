"""`berthmaster claim NAMESPACE/POD-POOL`: claim a pod. workers/cli/releasing.py gives it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from berthmaster.duration import spelled
from berthmaster.redis.client import connect_state
from berthmaster.redis.identity import NO_FLEET, Identity
from berthmaster.redis.outage import OUTAGE
from events.workqueue import Workqueue
from workers.cli.configured import MISUSE, configured
from workers.cli.doctor import AsJson
from workers.cli.jobs import Pool, pool_or_exit, refused
from workers.cli.output import say, say_json
from workers.cli.troubles import in_words

if TYPE_CHECKING:
    from berthmaster.client import Fleet

T = TypeVar("T")
Labels = Annotated[
    list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="A label that the pod must have")
]
TTL = Annotated[str, typer.Option("--ttl", metavar="TIME", help="The claim is deleted when nobody renews it so long")]
Timeout = Annotated[str, typer.Option("--timeout", metavar="TIME", help="How long to wait for the pod")]
Owner = Annotated[
    str | None,
    typer.Option("--owner", metavar="NAME", help="Label `owner` of the pod; pods that it had last are tried first"),
]
Name = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the claim, new if absent; the same name is the same claim"),
]


def claim(
    pool: Pool,
    labels: Labels = None,
    owner: Owner = None,
    name: Name = None,
    ttl: TTL = "1h",
    timeout: Timeout = "1m",
    as_json: AsJson = False,
) -> None:
    """Claim a pod of a pod pool, and show where it is reached. Exit status 1 if there is none in time."""
    wanted = dict(label_or_exit(label) for label in labels or ())
    lengths: dict[str, Any] = {"ttl": spelled_or_exit("--ttl", ttl), "timeout": spelled_or_exit("--timeout", timeout)}
    given: dict[str, Any] = {field: text for field, text in (("owner", owner), ("name", name)) if text is not None}
    pool_or_exit(pool)
    ask_queue(lambda _: None)  # a person learns at once what a service waits out
    claimed = ask(lambda fleet: fleet.claim(pool, wanted, **lengths, **given))
    endpoints = [endpoint.model_dump(by_alias=True) for endpoint in claimed.endpoints]
    if as_json:
        names = {"claim": claimed.claim, "pod": claimed.pod, "node": claimed.node}
        say_json({**names, "ips": list(claimed.ips), "endpoints": endpoints})
        return
    where = ", ".join(endpoint["address"] for endpoint in endpoints) or ", ".join(claimed.ips)
    say(f"{claimed.claim} has pod {claimed.pod}: {where}", f"  berthmaster release {claimed.claim}   # gives it back")


def label_or_exit(text: str) -> tuple[str, str]:
    """Return key and value of a label. Prints what is wrong and raises typer.Exit."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        say(f"--label {text!r}: must be KEY=VALUE", err=True)
        raise typer.Exit(MISUSE)
    return key, value


def spelled_or_exit(option: str, text: str) -> object:
    """Return the length of time of an option. Prints what is wrong and raises typer.Exit."""
    try:
        return spelled(text)
    except ValueError as error:
        say(f"{option} {error}", err=True)
        raise typer.Exit(MISUSE) from None


def ask_queue(question: Callable[[Workqueue], T]) -> T:
    """Ask the workqueue of the fleet. Prints what is wrong, or that no fleet is there, and raises typer.Exit."""
    settings = configured()
    queue = Workqueue(connect_state(settings.redis, Identity(settings.cluster)), publish=lambda _: None)
    try:
        if queue.owner() is None:
            raise refused(f"{NO_FLEET} BERTHMASTER_REDIS__URL names it, and `berthmaster doctor` checks it")
        return question(queue)
    except OUTAGE as error:
        raise refused(in_words(error)) from None


def ask(question: Callable[[Fleet], T]) -> T:
    """Ask a client of the fleet. Prints what is wrong to standard error and raises typer.Exit."""
    from berthmaster.client import ClaimRefused, Fleet  # here: few commands need the client

    settings = configured()
    broker = str(settings.broker.url or settings.redis.url)
    try:
        with Fleet(broker, settings.redis.url, settings.cluster) as fleet:
            return question(fleet)
    except (TimeoutError, ClaimRefused) as error:
        raise refused(in_words(error)) from None
    except ValueError as error:
        say(str(error), err=True)
        raise typer.Exit(MISUSE) from None
    except OUTAGE as error:
        raise refused(in_words(error)) from None
