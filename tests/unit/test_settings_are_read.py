"""A setting that nobody reads is a promise that nobody keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from berthmaster.runner.settings import RunnerSettings
from events.settings import ProcessSettings
from workers.settings import WorkerSettings

REPOSITORY = Path(__file__).parents[2]
PARTS = ("berthmaster", "workers", "events", "compose")
NAMES = {"settings", "_settings", "self"}  # what a group of settings is called where it is handed on by itself
ALSO = {"RateSettings": {"rate"}}  # by class: several groups are one kind of thing there


def reads(source: str) -> Iterator[tuple[str, str]]:
    """`a.b.c` reads b of a and c of b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            of = node.value
            yield of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else "", node.attr


def unread(model: Any, known: set[tuple[str, str]], group: str = "settings") -> Iterator[str]:
    """Fields that are read from nothing which is called like their group."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from unread(field.annotation, known, name)
        if not any((of, name) in known for of in {group} | NAMES | ALSO.get(model.__name__, set())):
            yield f"{model.__name__}.{name}"


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("model", [WorkerSettings, ProcessSettings, RunnerSettings])
def test_every_setting_is_read(model: type[BaseModel]) -> None:
    sources = (path for part in PARTS for path in (REPOSITORY / part).rglob("*.py"))
    known = {read for path in sources for read in reads(path.read_text(encoding="utf-8"))}
    assert list(unread(model, known)) == []


@pytest.mark.row("EV-21")
def test_a_setting_is_not_read_by_reading_another_of_its_name() -> None:
    known = set(reads("settings.queue.lease, settings.ports.retain_for"))
    assert "QueueSettings.lease" not in set(unread(WorkerSettings, known))
    assert {"QueueSettings.retry", "PortsSettings.sweep_every"} <= set(unread(WorkerSettings, known))
