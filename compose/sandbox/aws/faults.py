"""Faults that tests switch on: refusals, delays, and answers that are lost after the call is carried out."""

from __future__ import annotations

import random
import threading
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AwsFault(BaseModel):
    """A fault for calls of `action` ("*": all) whose body contains `match`, after `skip` others."""

    model_config = ConfigDict(extra="forbid")

    action: str = "*"
    match: str = ""
    skip: int = Field(default=0, ge=0)
    times: int | None = Field(default=1, description="calls that it applies to; null = all from now on")
    probability: float = Field(default=1.0, ge=0, le=1)
    delay: float = Field(default=0.0, ge=0, description="seconds before the call is carried out")
    code: str = Field(default="", description="AWS error code to answer instead of carrying the call out")
    message: str = "ordered by a test"
    status: int = Field(default=400, description="HTTP status that goes with `code`")
    lose: Literal["", "error", "cut"] = Field(
        default="", description="carry the call out, then answer 500 (error) or close the connection (cut)"
    )


class AwsFaults:
    """The active faults. A call uses up the first one that applies to it."""

    def __init__(self, seed: int = 0) -> None:
        self._lock, self._orders, self._chance = threading.Lock(), list[AwsFault](), random.Random(seed)

    def order(self, fault: AwsFault) -> None:
        """Add a fault."""
        with self._lock:
            self._orders.append(fault)

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._orders.clear()

    def orders(self) -> list[AwsFault]:
        """Return the active faults, oldest first."""
        with self._lock:
            return list(self._orders)

    def take(self, action: str, body: str) -> AwsFault | None:
        """Use up and return the first fault that applies to a call, or return None. `body`: the unquoted query."""
        with self._lock:
            return next((fault for fault in list(self._orders) if self._applies(fault, action, body)), None)

    def _applies(self, fault: AwsFault, action: str, body: str) -> bool:
        if fault.action not in ("*", action) or fault.match not in body:
            return False
        if fault.skip:
            fault.skip -= 1
            return False
        if self._chance.random() >= fault.probability:
            return False
        if fault.times is not None:
            fault.times -= 1
            if fault.times <= 0:
                self._orders.remove(fault)
        return True
