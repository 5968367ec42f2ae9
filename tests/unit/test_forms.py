"""Whoever writes a text of the wrong form reads words, and no regular expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from berthmaster.claims import request as claim_requests
from berthmaster.client import Fleet, Request
from berthmaster.forms import words_of
from berthmaster.jobs import payloads as job_payloads
from berthmaster.jobs.payload import Payload
from berthmaster.kinds import OUR_KINDS
from domain.definitions import definition_of
from events.settings import Misconfigured, ProcessSettings, settings_of
from tests.support.command_line import berthmaster
from workers.settings import WorkerSettings
from workers.tasks import claim_payloads, payloads

PAYLOADS = [
    found
    for module in (payloads, job_payloads, claim_payloads, claim_requests)
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, Payload)
]
NAMESPACED = "must be NAMESPACE/NAME, each of lower-case letters"


def patterns(schema: Any) -> Iterator[str]:
    """Yield every regular expression in a JSON schema."""
    if isinstance(schema, dict):
        if isinstance(pattern := schema.get("pattern"), str):
            yield pattern
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from patterns(part)


@pytest.mark.row("CL-45")
@pytest.mark.parametrize(
    "model",
    [*PAYLOADS, *(definition_of(kind).spec for kind in OUR_KINDS), ProcessSettings, WorkerSettings],
    ids=lambda model: model.__name__,
)
def test_every_form_has_words(model: type[BaseModel]) -> None:
    assert [pattern for pattern in patterns(model.model_json_schema()) if words_of(pattern) is None] == []


@pytest.mark.row("CL-45")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda fleet: fleet.claim("nope"), f"pool: {NAMESPACED}"),
        (lambda fleet: fleet.release("nope"), f"claim: {NAMESPACED}"),
        (lambda fleet: fleet.renew("nope"), f"claim: {NAMESPACED}"),
        (lambda fleet: fleet.claim("a/b", name="A"), "name: must be a name of lower-case letters"),
        (lambda fleet: fleet.confirm("ci/runners", "j", "1"), "plan: must be the id of an attempt, such as"),
        (lambda _: Request("j", "nope", "work"), f"pool: {NAMESPACED}"),
    ],
)
def test_a_text_of_the_wrong_form_is_refused_in_words(call: Callable[[Fleet], object], words: str) -> None:
    with Fleet("redis://127.0.0.1:1/0") as fleet, pytest.raises(ValueError, match=f"^{words}"):
        call(fleet)


@pytest.mark.row("CL-45")
def test_commands_and_settings_use_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for command, words in (("claim", "name the pod pool as NAMESPACE/POD-POOL"), ("release", "NAMESPACE/CLAIM")):
        refused = berthmaster({}, command, "nope")
        assert (refused.exit_code, refused.stdout, words in refused.stderr) == (2, "", True)
    monkeypatch.setenv("BERTHMASTER_CLUSTER", "-")
    with pytest.raises(Misconfigured, match=r"^BERTHMASTER_CLUSTER: must be letters, digits"):
        settings_of(WorkerSettings)
