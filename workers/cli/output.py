"""Where views are printed: as wide as the terminal, and as wide as it takes where there is none."""

from __future__ import annotations

from typing import Final

from rich.console import Console

WIDE: Final = 300


def console() -> Console:
    """A pipe cuts nothing: what is left out there is what somebody greps for."""
    found = Console()
    return found if found.is_terminal else Console(width=WIDE)
