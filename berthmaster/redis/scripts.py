"""Lua scripts: one a file, called by their digest, in one round trip also inside a pipeline.

redis-py's own `register_script` asks the server for the script before each pipeline, which is a second round trip. Here
the first call in a pipeline carries the text, which loads it for the calls after it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from redis import Redis
from redis.client import Pipeline
from redis.exceptions import NoScriptError

from berthmaster.errors import TransientError
from berthmaster.redis.incarnation import Argument, ask

Call: TypeAlias = Callable[[Sequence[str], Sequence[Argument]], None]
INCLUDE: Final = re.compile(r'^--- @include "(?P<name>[\w/]+)"\n', re.MULTILINE)
TABLE: Final = re.compile(r'\{\} --- @table "(?P<name>\w+)"$', re.MULTILINE)


def script_text(folder: Path, name: str, tables: Mapping[str, str] | None = None) -> str:
    """The text of `folder/name.lua`, with each `--- @include "lib/function"` replaced by that file, once each.

    An included file defines functions and does nothing else. It may include others. `{} --- @table "name"` becomes the
    Lua of that name in `tables`: what Python decides, as data of the script.
    """
    included: set[str] = set()

    def read(name: str) -> str:
        return INCLUDE.sub(insert, (folder / f"{name}.lua").read_text(encoding="utf-8"))

    def insert(include: re.Match[str]) -> str:
        if include["name"] in included:
            return ""
        included.add(include["name"])
        return read(include["name"])

    return TABLE.sub(lambda table: ({} if tables is None else tables)[table["name"]], read(name))


def lua(value: Any) -> str:
    """Render text, numbers, truth values, and lists and mappings of them as Lua."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"[==[{value}]==]" if '"' in value else f'"{value}"'  # our own texts: nothing else needs an escape
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"[{lua(key)}] = {lua(item)}" for key, item in value.items()) + "}"
    return "{" + ", ".join(map(lua, value)) + "}"


class Script:
    """`folder/name.lua` with its includes and tables."""

    def __init__(self, redis: Redis, name: str, folder: Path, tables: Mapping[str, str] | None = None) -> None:
        self.name, self.text = name, script_text(folder, name, tables)
        self.digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        self._redis = redis

    def __call__(self, keys: Sequence[str], args: Sequence[Argument]) -> Any:
        """Run the script and return its reply. A server that lacks the script (restarted, flushed) gets its text."""
        try:
            return ask(self._redis, "EVALSHA", self.digest, len(keys), *keys, *args)
        except NoScriptError:
            return ask(self._redis, "EVAL", self.text, len(keys), *keys, *args)

    def batch(self, pipeline: Pipeline) -> Call:
        """Return a function that adds a call of the script to the pipeline. Take a new one for each execution."""
        loaded = False

        def call(keys: Sequence[str], args: Sequence[Argument]) -> None:
            nonlocal loaded
            if loaded:
                pipeline.evalsha(self.digest, len(keys), *keys, *args)
            else:
                pipeline.eval(self.text, len(keys), *keys, *args)
            loaded = True

        return call


class PreloadedScript(Script):
    """A script of a client that may not load scripts: a worker has loaded it, or soon does."""

    def __call__(self, keys: Sequence[str], args: Sequence[Argument]) -> Any:
        """Run the script and return its reply. Raises TransientError while the server does not have the script."""
        try:
            return ask(self._redis, "EVALSHA", self.digest, len(keys), *keys, *args)
        except NoScriptError as error:
            raise TransientError(f"Redis does not have script {self.name} ({self.digest}) yet") from error


class Scripts:
    """All scripts of a folder, by name."""

    def __init__(self, redis: Redis, folder: Path, tables: Mapping[str, str] | None = None) -> None:
        self._scripts = {path.stem: Script(redis, path.stem, folder, tables) for path in folder.glob("*.lua")}

    def __getitem__(self, name: str) -> Script:
        return self._scripts[name]
