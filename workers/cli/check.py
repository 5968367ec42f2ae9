"""A line of `doctor`."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """`warns`: it is well, but somebody should look."""

    name: str
    ok: bool
    found: str
    warns: bool = False
