"""Check the includes of Lua scripts.

A file in lib/ only defines functions and constants. Every include exists, and the including file uses it. A file
includes what it uses. Every file in lib/ is included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from berthmaster.redis.scripts import INCLUDE
from scripts.lua_tokens import declared, locals_of, tokens, uses
from scripts.sources import sources

MENTIONED: Final = re.compile(r"^.*@include.*\n?", re.MULTILINE)
Folder = Mapping[str, str]
"""The files of one folder `lua`: `name` or `lib/name` -> text."""


def offences(root: Path) -> Iterator[str]:
    """Yield a line for each fault of the repository."""
    for folder, files in folders(root).items():
        yield from faults_of(folder, files)


def folders(root: Path) -> dict[str, dict[str, str]]:
    """Return the texts of each folder `lua` by name."""
    by_folder: dict[str, dict[str, str]] = {}
    for path, text in sources(root, ".lua"):
        file = PurePosixPath(path)
        in_lib = file.parent.name == "lib"
        folder = file.parent.parent if in_lib else file.parent
        by_folder.setdefault(folder.as_posix(), {})["lib/" * in_lib + file.stem] = text
    return by_folder


def is_lib(name: str) -> bool:
    """Return whether the name is of a file in lib/."""
    return name.startswith("lib/")


def faults_of(folder: str, files: Folder) -> Iterator[str]:
    """Yield a line for each fault in a folder."""
    owners = {name: lib for lib in filter(is_lib, files) for name in declared(files[lib]).names}
    included = {match["name"] for text in files.values() for match in INCLUDE.finditer(text)}
    for name, text in files.items():
        where = f"{folder}/{name}.lua"
        yield from (f"{where}: {fault}" for fault in _include_faults(name, text, files, owners))
        if is_lib(name):
            yield from (f"{where}: {fault}" for fault in _lib_faults(name, text))
            yield from [] if name in included else [f"{where}: nobody includes it"]


def _lib_faults(name: str, text: str) -> Iterator[str]:
    definitions = declared(text)
    yield from (f"does something: `{words}`; it may only define functions and constants" for words in definitions.other)
    if len(definitions.names) == 1 and definitions.functions not in ([], [name.removeprefix("lib/")]):
        yield f"has another name than {definitions.functions[0]}, which is all that it defines"
    if "ARGV" in tokens(text):
        yield "reads ARGV: a function gets what it needs as parameters"


def _include_faults(name: str, text: str, files: Folder, owners: Mapping[str, str]) -> Iterator[str]:
    includes = [match["name"] for match in INCLUDE.finditer(text)]
    if len(MENTIONED.findall(text)) != len(includes):
        yield 'has an include that is not read: a line of its own, `--- @include "lib/name"`'
    words = tokens(text)
    used = uses(words)
    for include in includes:
        if include not in files:
            yield f"includes {include}, which does not exist"
        elif not used & set(declared(files[include]).names):
            yield f"includes {include} and does not use it"
    for word in sorted(used & owners.keys()):
        if owners[word] not in {name, *includes} and word not in locals_of(words):
            yield f"uses `{word}` and does not include {owners[word]}"
    yield from (f"changes the constant {word}" for word in _changed(words, name, files, owners))


def _changed(words: list[str], name: str, files: Folder, owners: Mapping[str, str]) -> Iterator[str]:
    own = declared(files[name]).constants if is_lib(name) else []
    used = owners.keys() & set(words)
    constants = {word for word in used if word in declared(files[owners[word]]).constants} - {*own, *locals_of(words)}
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        if word in constants and after == "=" and before not in {".", "{"}:
            yield word
