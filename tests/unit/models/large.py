"""Bounds that take minutes are explored on request: MODELS=large make test ARGS=tests/unit/models."""

from __future__ import annotations

import os
from typing import TypeVar

Case = TypeVar("Case")


def with_large(small: list[Case], large: list[Case]) -> list[Case]:
    """Return the cases of CI, and those with large bounds if somebody has asked for them."""
    return small + large if os.environ.get("MODELS") == "large" else small
