"""Texts that steer a terminal, rich or a reader, and what of them has come through."""

from __future__ import annotations

import unicodedata
from typing import Final

ODD: Final = "\x1b[1A\x1b[2K\r\x08\x07\x9b31m\x9d0;x\x9c\x7f\u202e\u2066\u200f\u2028\u2029\ufeff"
"""Moves up, erases the line, rings; colours and titles by C1; reorders; separates lines; has no shape."""
HOSTILE: Final = f"a{ODD}b[red]c[/red][bold]:boom:"


def sent_raw(text: str) -> list[str]:
    """Characters that a terminal would obey; lines and tabs aside."""
    return [char for char in text if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")]
