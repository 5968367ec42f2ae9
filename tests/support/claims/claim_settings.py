"""The settings of workers in tests of claims: the defaults."""

from __future__ import annotations

from typing import Final

from workers.settings import WorkerSettings

SETTINGS: Final = WorkerSettings(cluster="test")
