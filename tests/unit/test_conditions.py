"""docs/claims.md, pools.md and warm-pods.md name every word that people meet in a status, a label or an Event."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import domain.claims
import domain.pod_pools.status
import domain.port_pools.status
import workers.claim_sets
import workers.claims

DOCUMENTS = Path(__file__).parents[2] / "docs"
WORD = "([A-Z][a-z]+)+"
SOURCES = {
    "claims": (domain.claims, workers.claims, workers.claim_sets),
    "pools": (domain.port_pools.status,),
    "warm-pods": (domain.pod_pools.status,),
}
ELSEWHERE = {"Accepted", "AllFound", "Failed", "False", "FieldValueInvalid", "Running", "Succeeded", "True"}
"""Words of Kubernetes, and of what is right, where there is nothing more to say."""


def words(source: ModuleType) -> Iterator[str]:
    """Types of conditions, their reasons, phases, Events: each is a text that is one word in capitals and small."""
    at = Path(str(source.__file__))
    for path in at.parent.glob("*.py") if at.name == "__init__.py" else [at]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(WORD, node.value):
                yield node.value


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", SOURCES)
def test_every_condition_reason_phase_and_event_is_explained(document: str) -> None:
    text = (DOCUMENTS / f"{document}.md").read_text(encoding="utf-8")
    said = {word for source in SOURCES[document] for word in words(source)}
    assert len(said) > 8
    assert sorted(word for word in said - ELSEWHERE if f"`{word}`" not in text) == []
