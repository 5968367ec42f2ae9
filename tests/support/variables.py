"""The variables that our processes read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from events.settings import ProcessSettings
from workers.settings import WorkerSettings

OF_OTHERS = {"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "FLOWER_BASIC_AUTH"}


def variables(settings: Any, prefix: str = "BERTHMASTER") -> set[str]:
    """Every variable that a settings class reads."""
    names = set()
    for name, field in settings.model_fields.items():
        variable = f"{prefix}{'__' if '__' in prefix or prefix != 'BERTHMASTER' else '_'}{name.upper()}"
        nested = hasattr(field.annotation, "model_fields")
        names |= variables(field.annotation, variable) if nested else {variable}
    return names


def unknown_variables(names: Iterable[str]) -> list[str]:
    """Those that nobody reads."""
    read = variables(WorkerSettings) | variables(ProcessSettings) | OF_OTHERS
    return [name for name in names if name not in read]
