"""Variables that look like settings and are none: mistyped ones, which a process would start without.

Kubernetes adds variables too: in each pod, for each Service of its namespace. A Service `berthmaster-flower` sets
`BERTHMASTER_FLOWER_PORT=tcp://10.0.0.1:5555`, so that an unknown name alone is no reason to refuse.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from itertools import starmap
from typing import Final

from pydantic import BaseModel

PREFIX: Final = "BERTHMASTER_"
OF_OTHERS: Final = tuple(f"{PREFIX}{start}" for start in ("RUNNER__", "SANDBOX", "REQUIRE_", "CHAOS_"))
"""Beginnings of variables that runners, the sandbox and tests read."""
SERVICE_LINK: Final = re.compile(
    r".*_(SERVICE_HOST=|SERVICE_PORT(_\w+)?=|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=|PORT=(tcp|udp|sctp)://).*"
)


def names_of(settings: type[BaseModel], prefix: str = PREFIX) -> Iterator[str]:
    """Yield the variable of each setting and each group."""
    for name, field in settings.model_fields.items():
        variable = f"{prefix}{name.upper()}"
        yield variable
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from names_of(field.annotation, f"{variable}__")


def mistyped(names: Collection[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that differ from one of `names` by underscores alone, each with the name that is meant."""
    meant = {_squeezed(name): name for name in names}
    return {name: meant[_squeezed(name)] for name in _strangers(names, environment) if _squeezed(name) in meant}


def unread(names: Collection[str], environment: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables that nobody reads, each with the nearest of `names`, if one is near.

    An unknown setting of a known group is left out: the settings refuse it themselves.
    """
    groups = tuple(f"{name}__" for name in names)
    strange = [name for name in _strangers(names, environment) if not name.startswith(groups)]
    return {name: mistyped(names, {name: ""}).get(name) or _nearest(names, name) for name in strange}


def refuse_mistyped(settings: type[BaseModel]) -> None:
    """Raise ValueError if a variable of this process is surely a mistyped one of these settings."""
    if wrong := mistyped(frozenset(names_of(settings)), os.environ):
        raise ValueError("; ".join(starmap(in_words, wrong.items())))


def in_words(name: str, nearest: str | None) -> str:
    """Say that nobody reads a variable."""
    return f"{name}: there is no such setting" + (f"; is {nearest} meant?" if nearest else ", and nobody reads it")


def _strangers(names: Collection[str], environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in sorted(environment.items()):
        ours = name.startswith(PREFIX) and name.upper() not in names
        if ours and not name.startswith(OF_OTHERS) and not SERVICE_LINK.fullmatch(f"{name}={value}".partition("\n")[0]):
            yield name


def _nearest(names: Collection[str], name: str) -> str | None:
    """Return the most similar name, by what follows the prefix that all have."""
    rest = [setting.removeprefix(PREFIX) for setting in names]
    similar = get_close_matches(name.removeprefix(PREFIX), rest, 1, 0.8)
    return f"{PREFIX}{similar[0]}" if similar else None


def _squeezed(name: str) -> str:
    return name.upper().replace("_", "")
