"""How hints reach a broker that is not the Redis of the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Publish: TypeAlias = Callable[[Sequence[str]], None]
"""Sends the hints of these ids. May raise: the tick forgets hints that were not sent, and sends others."""
