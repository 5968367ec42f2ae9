"""A hundred thousand odd inputs to what reads the texts of others: each is read, or refused as its reader says."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from berthmaster import routing
from berthmaster.jobs import payloads as job_payloads
from berthmaster.jobs.job import ATTEMPT
from berthmaster.jobs.messages import Body, placed_of
from berthmaster.jobs.payload import Payload
from berthmaster.jobs.result import LONGEST, kept
from berthmaster.names import is_name, is_uid
from domain.claims.labels import moment, proper_key, proper_value
from domain.kubernetes.names import PREFIX
from domain.kubernetes.objects import KubeObject, Pod
from domain.ports.endpoints import parse_endpoints
from domain.ports.pod import PodView, family_of
from domain.ports.request import RequestError, parse_ports
from domain.ports.retain_annotation import parse_retention
from events.protocol.claim_index import names_of
from events.protocol.schemas import pod_snapshot
from events.publisher.claim_feed import sets_of
from events.publisher.resources import labelled_pool
from tests.support.faults.odd_messages import VALUES, encoded
from workers.kube.claim_pods import pool_pod
from workers.tasks import claim_payloads, payloads
from workers.tasks.payloads import PayloadRefused, read
from workers.telemetry.logs import as_json

INPUTS = 100_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PIECES = (
    *("a", "Z", "0", "9", "-", ".", "/", "..", "_", ":", "@", "+", ",", "=", " ", "\n", "\x00", "\x1b[", "é", "\ud800"),
    *("pod", "portpool", "podpool", "podclaim", "7777/UDP@arena", "game=", "10-20", "{", "}", "[", "]", '"', "null"),
    *("true", "1e999", '"pool":', '"port":', "99999999999999999999", "arena", "2026-01-01T00:00:00Z", "1-1", "/UDP"),
)
MODELS = tuple(
    found
    for module in (payloads, job_payloads, claim_payloads)
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, Payload)
)
Reader = Callable[["Odd"], None]


class Odd:
    """Texts and values of one chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def text(self) -> str:
        return "".join(self.chance.choices(PIECES, k=self.chance.randrange(9)))

    def value(self) -> Any:
        return self.text() if self.chance.random() < 0.5 else self.chance.choice(VALUES)

    def values(self, *names: str) -> dict[str, Any]:
        return {name: self.value() for name in names if self.chance.random() < 0.8}

    def pod(self) -> dict[str, Any]:
        meta = {
            "namespace": "a",
            "name": "p",
            "uid": "u",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "resourceVersion": "1",
        }
        labels = {PREFIX + name: self.text() for name in ("pool", "phase", "claimed-by", "claimset", "owner")}
        notes = {PREFIX + name: self.text() for name in ("ports", "endpoints", "added-labels", "sessions")}
        kind = self.chance.choice(("PodPool", "PodClaimSet", "Pod"))
        owners = [{"kind": kind, "name": self.text(), "uid": self.text()} for _ in range(2)]
        return {"metadata": {**meta, "labels": labels, "annotations": notes, "ownerReferences": owners}}


def names(odd: Odd) -> None:
    text = odd.text()
    for of in (is_name, is_uid):
        assert not (of(text) and ({"\n", ":", "\x00", ".."} & {text, *text} or text.startswith((".", "/"))))
    assert not is_name(text) or "/" not in text
    assert not ATTEMPT.fullmatch(text) or text.replace("-", "").isdigit()


def keys(odd: Odd) -> None:
    key = "/".join(odd.text() for _ in range(odd.chance.randrange(1, 5)))
    if routing.is_key(key):
        kind, *parts = routing.split_key(key)
        assert routing.reconciler(key)
        assert (len(parts), all(map(is_name, parts))) == (1 if kind == "portpool" else 2, True)


def made_keys(odd: Odd) -> None:
    """Of labels, of owner references, and of an index in Redis."""
    pod = KubeObject(odd.pod())
    pool = labelled_pool(pod)
    assert all(map(routing.is_key, {*sets_of([pod]), *filter(None, [pool])}))
    assert all(map(is_name, names_of(odd.text().encode(errors="replace"), b"\xff" + b"a", None)))


def labels_and_annotations(odd: Odd) -> None:
    pod = odd.pod()
    view = PodView.from_snapshot(1, pod_snapshot(pod))
    assert all(is_name(row.pool) for row in parse_endpoints(view.outputs.endpoints))
    seen = pool_pod(Pod(pod), NOW)
    assert seen.pool is None or is_name(seen.pool)
    proper_key(odd.text())
    proper_value(odd.value())
    moment(odd.text())


def ports(odd: Odd) -> None:
    with suppress(RequestError):
        assert parse_ports(odd.text(), odd.text())
    with suppress(RequestError):
        parse_retention(odd.text(), timedelta(hours=1))
    family_of(odd.text())


def endpoints(odd: Odd) -> None:
    row = {"pool": "arena", "loadBalancer": "lb-1", "port": 7000, "containerPort": 7000, "protocol": "UDP", "name": "a"}
    assert all(
        is_name(row.pool) for row in parse_endpoints(encoded([{**row, **odd.values(*row, "endPort", "target")}]))
    )


def payloads_of_tasks(odd: Odd) -> None:
    model = odd.chance.choice(MODELS)
    args = [odd.value() for _ in range(odd.chance.randrange(3))]
    with suppress(PayloadRefused):
        asked = read(
            model, tuple(args), odd.values(*odd.chance.sample(list(model.model_fields), len(model.model_fields)))
        )
        assert not isinstance(asked, payloads.ReconcileKey) or type(asked) is payloads.ReconcileKey or is_key(asked)


def is_key(asked: payloads.ReconcileKey) -> bool:
    return routing.is_key(asked.key)


def what_a_runner_writes(odd: Odd) -> None:
    assert len(kept(odd.text() * odd.chance.choice((1, 5000)))) <= LONGEST
    with suppress(ValueError, RecursionError):
        Body.decoded(odd.text())
    job = {"phases": ["plan"], "serial_key": "", "priority": 5, "hold_ms": 1, "when_lost": "requeue", "body": "{}"}
    header = {"id": "j", "attempt": "1-1", "uid": "u", "phase": "plan", "job": {**job, **odd.values(*job)}}
    with suppress(KeyError, TypeError, ValueError):  # what its callers expect
        placed = placed_of({**header, **odd.values("attempt", "uid")})
        assert ATTEMPT.fullmatch(placed.attempt)


def log_lines(odd: Odd) -> None:
    assert as_json({"event": odd.text(), "value": odd.value(), odd.text(): [odd.value()]})


READERS: tuple[Reader, ...] = (
    *(names, keys, made_keys, labels_and_annotations, ports, endpoints),
    *(payloads_of_tasks, what_a_runner_writes, log_lines),
)


@pytest.mark.row("HO-01", "HO-02")
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_odd_inputs_are_read_or_refused(reader: Reader, request: pytest.FixtureRequest) -> None:
    searches = request.config.getoption("hypothesis_profile", None) == "search"
    odd = Odd(random.randrange(2**32) if searches else 31)
    for _ in range(INPUTS // len(READERS) + 1):
        reader(odd)
