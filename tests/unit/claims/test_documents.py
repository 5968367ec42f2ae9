"""docs/claims.md and docs/warm-pods.md name every word that people meet in a status, a label or an Event."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
WORD = "([A-Z][a-z]+)+"
SOURCES = {
    "claims": ("domain/claims/*.py", "workers/claims/*.py", "workers/claimsets/*.py"),
    "warm-pods": ("domain/scaling/pool_status.py",),
}
ELSEWHERE = {"Accepted", "Failed", "False", "Running", "Succeeded"}
"""Words of Kubernetes, and of what is right, where there is nothing more to say."""


def words(pattern: str) -> Iterator[str]:
    """Types of conditions, their reasons, phases, Events: each is a text that is one word in capitals and small."""
    for path in REPOSITORY.glob(pattern):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(WORD, node.value):
                yield node.value


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", SOURCES)
def test_every_condition_reason_phase_and_event_is_explained(document: str) -> None:
    text = (REPOSITORY / "docs" / f"{document}.md").read_text(encoding="utf-8")
    said = {word for pattern in SOURCES[document] for word in words(pattern)}
    assert len(said) > 8
    assert sorted(word for word in said - ELSEWHERE if f"`{word}`" not in text) == []
