"""Whatever pods' authors, older definitions and other services write: a value, or an error that says what is wrong.

Never another exception, and never for long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from berthmaster.events import AllocationFailed, Changed, CloudEvent
from berthmaster.jobs import payloads as job_payloads
from berthmaster.jobs.messages import Body, placed_of
from berthmaster.jobs.payload import Payload
from domain.claim_sets.pod_claim_set import PodClaimSetSpec
from domain.claims.pod_claim import PodClaimSpec
from domain.kubernetes.names import PREFIX
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.endpoints import parse_endpoints, published_ids
from domain.ports.pod import PodView, family_of
from domain.ports.request import RequestError, parse_ports
from domain.ports.retain_annotation import parse_retention
from domain.ports.want import Protocol
from events.protocol.schemas import pod_snapshot, spec_snapshot
from workers.kube.claim_pods import pool_pod
from workers.tasks import claim_payloads, payloads
from workers.tasks.payloads import PayloadRefused, read

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG = 200_000
SECONDS = 2.0
SPECS: Sequence[type[BaseModel]] = (PortPoolSpec, PodPoolSpec, PodClaimSpec, PodClaimSetSpec)
CONTRACTS: Sequence[type[BaseModel]] = (CloudEvent, Changed, AllocationFailed)
PAYLOADS: Sequence[type[Payload]] = tuple(
    found
    for module in (payloads, job_payloads, claim_payloads)
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, Payload)
)
PIECES = (
    *("a", "=", "-", "/", "@", "+", ",", "[", "\\", "\n", " ", ".", "::", "\x00", "é", "9"),
    *("7777/UDP@a,", "a=", "1-", "a-", '{"a":'),
)
MARKS = ("phase", "claimed-by", "pool", "owner", "cordon", "claimset", "ports", "endpoints", "added-labels", "sessions")

texts = st.text(max_size=60)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts)
values = st.recursive(
    scalars, lambda one: st.lists(one, max_size=4) | st.dictionaries(texts, one, max_size=4), max_leaves=12
)
labels = st.dictionaries(st.one_of(st.sampled_from(MARKS).map(PREFIX.__add__), texts), texts, max_size=6)


def pod(marks: dict[str, str], notes: dict[str, str]) -> dict[str, Any]:
    """What an author may write into one; the API server vouches for the rest."""
    meta = {
        "namespace": "a",
        "name": "p",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"metadata": {**meta, "labels": marks, "annotations": notes}}


def of_fields(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Its own fields with anything in them, and some that it does not know."""
    schema = model.model_json_schema(by_alias=True)["properties"]
    known = {name: st.one_of(values, st.sampled_from([0, -1, 2**70, "", [], {}])) for name in schema}
    return st.builds(
        lambda some, more: {**more, **some},
        st.fixed_dictionaries({}, optional=known),
        st.dictionaries(texts, values, max_size=2),
    )


@given(text=texts, default=texts)
def test_a_request_for_ports_is_read_or_refused(text: str, default: str) -> None:
    with suppress(RequestError):
        assert parse_ports(text, default)
    with suppress(RequestError):
        assert parse_retention(text, timedelta(hours=1)) >= 0
    family_of(text)
    published_ids(text)


@given(marks=labels, notes=labels)
def test_every_pod_can_be_looked_at(marks: dict[str, str], notes: dict[str, str]) -> None:
    body = pod(marks, notes)
    view = PodView.from_snapshot(1, pod_snapshot(body))
    assert len(view.warnings or "") <= 512
    assert all(row.name for row in parse_endpoints(view.outputs.endpoints))
    assert view.enabled in (True, False)
    assert not pool_pod(Pod(body), NOW).claimed_by  # no pool made it


@pytest.mark.parametrize("model", SPECS)
@given(data=st.data())
def test_a_spec_of_another_version_is_read_or_refused(model: type[BaseModel], data: st.DataObject) -> None:
    spec = data.draw(st.one_of(of_fields(model), values))
    with suppress(ValidationError):
        model.model_validate(spec_snapshot({"spec": spec, "metadata": {"name": "a"}})["spec"])


@pytest.mark.parametrize("model", PAYLOADS)
@given(args=st.lists(values, max_size=4), kwargs=st.dictionaries(texts, values, max_size=3))
def test_a_payload_is_read_or_refused(model: type[Payload], args: list[Any], kwargs: dict[str, Any]) -> None:
    with suppress(PayloadRefused):
        read(model, tuple(args), kwargs)


@pytest.mark.parametrize("model", PAYLOADS)
@given(data=st.data())
def test_a_payload_of_the_right_names_is_read_or_refused(model: type[Payload], data: st.DataObject) -> None:
    with suppress(PayloadRefused):
        read(model, (), data.draw(of_fields(model)))


@given(value=values)
def test_a_message_from_redis_is_read_or_refused(value: Any) -> None:
    for model in CONTRACTS:
        with suppress(ValidationError):
            model.model_validate(value)
    with suppress(ValueError, RecursionError):
        Body.decoded(str(value))
    with suppress(KeyError, TypeError, ValueError):  # what its callers expect
        placed_of(value)


def in_payload(model: type[Payload], text: str) -> object:
    return read(model, (text,) * 3, {})


def in_spec(model: type[BaseModel], name: str, text: str) -> object:
    return model.model_validate({name: text})


def names_of(model: type[BaseModel]) -> list[str]:
    return list(model.model_json_schema(by_alias=True)["properties"])


READERS: dict[str, Callable[[str], object]] = {
    "ports": parse_ports,
    "retention": lambda text: parse_retention(text, timedelta(hours=1)),
    "endpoints": parse_endpoints,
    "address": family_of,
    "pod": lambda text: PodView.from_snapshot(1, pod_snapshot(pod({}, {PREFIX + text: text}))).warnings,
    "labels": lambda text: pool_pod(Pod(pod({PREFIX + "phase": text}, {PREFIX + "sessions": text})), NOW),
    "body": Body.decoded,
    **{model.__name__: partial(in_payload, model) for model in PAYLOADS},
    **{f"{model.__name__}.{name}": partial(in_spec, model, name) for model in SPECS for name in names_of(model)},
}


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    """An expression that goes back and forth would take days."""
    slow = {}
    for name, reader in READERS.items():
        for text in (piece * (LONG // len(piece)), piece * 1000 + "!"):
            started = time.process_time()
            with suppress(RequestError, ValidationError, PayloadRefused, ValueError, RecursionError):
                reader(text)
            slow[name] = time.process_time() - started
    assert {name: seconds for name, seconds in slow.items() if seconds > SECONDS} == {}


def test_every_protocol_can_be_asked_for() -> None:
    """The readers above refuse nearly everything; this is what they take."""
    assert [want.port for want in parse_ports(",".join(f"{n + 1}/{p}@a" for n, p in enumerate(Protocol)))]
