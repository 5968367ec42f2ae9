"""The forms that texts must have: each is an expression for programs, and words for the people who meet an error.

An error of pydantic names the expression alone. `fault_in_words` finds the words by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LETTERS: Final = "lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
A_NAME: Final = f"a name of {LETTERS}"
A_SHORT_NAME: Final = "a name of up to 63 lower-case letters, digits and '-', with a letter or digit at both ends"
_WORDS: Final[dict[str, str]] = {}


def form(expression: str, words: str) -> str:
    """Return the expression. A text of another form then `must be` what the words say."""
    _WORDS[expression] = words
    return expression


def words_of(expression: str) -> str | None:
    """Return the words of an expression, None for one without words."""
    return _WORDS.get(expression)


def fault_in_words(fault: Mapping[str, Any]) -> str:
    """Return what is wrong, from one of pydantic's `errors()` with its context."""
    words = words_of(str(fault.get("ctx", {}).get("pattern")))
    return f"must be {words}" if words else str(fault["msg"]).removeprefix("Value error, ")
