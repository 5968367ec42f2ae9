r"""Makes text from outside safe for a terminal: characters that steer it, or hide or reorder text, become escapes.

A job's result, a message of AWS or a name may contain anything. An escape sequence moves the cursor and overwrites the
lines above; a bidirectional override shows the letters of a command in another order. Both, and all other characters
without a shape, become escapes as JSON and Python write them (`\\u001b`), so that JSON stays the same JSON.
"""

from __future__ import annotations

import re
from typing import Final

INVISIBLE: Final = (
    r"\u0000-\u0008\u000b-\u001f\u007f-\u009f"  # C0 without tab and newline, DEL, C1
    r"\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"  # formats: what a font does not draw alone
    r"\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # fillers, joiners, selectors
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"  # zero width, separators, bidirectional marks and overrides
    r"\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"  # halves of characters, selectors, byte order mark
    r"\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # formats of notations, tags
)
IN_TEXT: Final = re.compile(f"[{INVISIBLE}]")
IN_LINE: Final = re.compile(f"[{INVISIBLE}\\n]")


def visible(text: str) -> str:
    """Escape the invisible characters of a text; newlines and tabs stay."""
    return IN_TEXT.sub(_escape, text)


def visible_line(text: str) -> str:
    """Escape newlines as well, so that no text can imitate our next line; tabs stay."""
    return IN_LINE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
