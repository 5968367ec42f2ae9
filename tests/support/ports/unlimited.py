"""A call budget without any limit, where a test is about other things than the budget."""

from __future__ import annotations

from datetime import timedelta

from workers.cloud.call_budget import ApiClass
from workers.cloud.priority import Priority


class Unlimited:
    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:
        return None

    def drain(self, api_class: ApiClass) -> None:
        pass
