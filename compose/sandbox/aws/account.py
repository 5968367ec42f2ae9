"""The account of the sandbox AWS: the backends of all regions, settings, faults and the record of calls."""

from __future__ import annotations

import threading
from typing import Any

from compose.sandbox.aws.calls import Calls
from compose.sandbox.aws.faults import AwsFaults
from compose.sandbox.aws.settings import Settings
from compose.sandbox.aws.tags import StrictBackend
from compose.sandbox.aws.throttle import Throttle

ACCOUNT = "123456789012"


class AwsAccount:
    """One AWS account. `lock` serializes calls, because moto is not thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._first = settings
        self.lock = threading.RLock()
        self.calls = Calls()
        self.reset()

    def reset(self) -> None:
        """Return to the state at the start: no resources, no faults, no record."""
        with self.lock:
            self.settings = self._first.model_copy(deep=True)
            self.faults, self.throttle = AwsFaults(), Throttle()
            self.calls.clear()
            self._backends: dict[str, StrictBackend] = {}

    def backend(self, region: str) -> StrictBackend:
        """Return the backend of a region. The first call creates it."""
        with self.lock:
            if region not in self._backends:
                self._backends[region] = StrictBackend(region, ACCOUNT, self.settings)
            return self._backends[region]

    def change(self, changes: dict[str, Any]) -> Settings:
        """Change settings; groups are merged, not replaced. Raises pydantic.ValidationError for an unknown setting."""
        with self.lock:
            changed = Settings.model_validate(_merged(self.settings.model_dump(), changes))
            self.settings = changed
            for backend in self._backends.values():
                backend.settings = changed
            return changed


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    both = {key: value for key, value in new.items() if isinstance(value, dict) and isinstance(old.get(key), dict)}
    return {**old, **new, **{key: _merged(old[key], value) for key, value in both.items()}}
