"""Split Lua text into tokens, and find the declarations of a file's top level. Enough for the lint; not a parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

TOKEN: Final = re.compile(
    r"""(?P<comment>--\[\[.*?\]\]|--[^\n]*)|(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\[\[.*?\]\])"""
    r"""|(?P<number>\d[\w.]*)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\.\.\.?|[=~<>]=|\S)""",
    re.DOTALL,
)
OPENERS, CLOSERS = frozenset({"function", "do", "if", "repeat"}), frozenset({"end", "until"})
OPERATORS: Final = frozenset({"and", "or", "not"})
KEYS_AS_NAMES: Final = ("unpack", "(", "KEYS", ")")
"""The one call that a constant may make."""


@dataclass
class Declared:
    """The declarations of a file's top level. `other`: words of statements that are no declarations."""

    functions: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of functions and constants."""
        return self.functions + self.constants


def tokens(text: str) -> list[str]:
    """Return the tokens without comments; a string keeps its quotes."""
    return [match[0] for match in TOKEN.finditer(text) if match.lastgroup != "comment"]


def declared(text: str) -> Declared:
    """Return the declarations of a whole file, up to the first statement that is no declaration."""
    result, words, at = Declared(), tokens(text), 0
    while at < len(words):
        if words[at] != "local":
            result.other.append(" ".join(words[at : at + 3]))
            break
        if words[at + 1 : at + 2] == ["function"]:
            result.functions.append(words[at + 2])
            at = end_of_function(words, at + 1)
        else:
            at = _constants(words, at, result)
    return result


def end_of_function(words: Sequence[str], at: int) -> int:
    """Return the index after the function whose word `function` is at `at`."""
    depth = 0
    while at < len(words):
        depth += (words[at] in OPENERS) - (words[at] in CLOSERS)
        at += 1
        if not depth:
            break
    return at


def _constants(words: Sequence[str], at: int, result: Declared) -> int:
    """Read one statement `local A, B = ...`, whose values must be no functions and make no calls."""
    end = next((i for i in range(at + 1, len(words)) if words[i] == "local"), len(words))
    values = words.index("=", at, end) + 1 if "=" in words[at:end] else end
    result.constants += [name for name in words[at + 1 : values - 1] if name != ","]
    acts = end if values == end else first_act(words[values:end], values)
    if acts is not None:
        result.other.append(" ".join(words[max(at, acts - 1) : acts + 2]))
    return end


def first_act(values: Sequence[str], start: int) -> int | None:
    """Return the index where the words, of which the first is at `start`, do more than name values; None if nowhere.

    That is a call, a function, or the beginning of another statement.
    """
    if tuple(values) == KEYS_AS_NAMES:
        return None
    pairs = enumerate(zip(["=", *values], values, strict=False), start)
    return next((at for at, (before, word) in pairs if _follows(before, word)), None)


def _follows(before: str, word: str) -> bool:
    """Return whether a value (or `function`) has ended and `word` is no operator, index or closing bracket."""
    return _is_operand(before) and (_is_operand(word) or word in "({") and word not in ")]}"


def _is_operand(word: str) -> bool:
    return word not in OPERATORS and (word[0].isalnum() or word[0] in "_\"'" or word in ")]}" or word.startswith("[["))


def locals_of(words: Sequence[str]) -> set[str]:
    """Return every name that a file binds anywhere: locals, parameters, variables of loops."""
    return {name for at, word in enumerate(words) for name in _bound(words, at, word)}


def _bound(words: Sequence[str], at: int, word: str) -> Iterator[str]:
    if word == "function":
        at = words.index("(", at)
        yield from (name for name in words[at + 1 : words.index(")", at)] if name != ",")
    elif word in {"local", "for"}:
        for name in words[at + 1 :]:
            if (name != "," and not name.isidentifier()) or name in {"in", "function"}:
                break
            yield name


def uses(words: Sequence[str]) -> set[str]:
    """Return names that stand for a value: no field of a table (`a.b`, `a:b`), no key in a table (`{ a = 1 }`)."""
    around = zip(["", *words], words, [*words[1:], ""], strict=False)
    return {
        word
        for before, word, after in around
        if word.isidentifier() and before not in {".", ":"} and not (after == "=" and before in {"{", ","})
    }
