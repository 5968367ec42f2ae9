"""The command line's part of the reference: every command, its arguments and options, from typer's functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, Final, NamedTuple, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from compose.sandbox.__main__ import main as sandbox
from workers.cli import processes
from workers.cli.main import app

ELSEWHERE: Final[dict[Any, Callable[..., Any]]] = {processes.sandbox: sandbox}
"""Commands that pass their options on to a function of another program."""


class Option(NamedTuple):
    """An option as it is typed; `default` is '' for none."""

    name: str
    default: str
    text: str


class Command(NamedTuple):
    """A command. `name` begins with `berthmaster`; `arguments` are all required."""

    name: str
    text: str
    arguments: tuple[str, ...]
    options: tuple[Option, ...]

    @property
    def usage(self) -> str:
        """The usage line."""
        return " ".join([self.name, *self.arguments, *(["[OPTIONS]"] if self.options else [])])


def commands(of: typer.Typer = app, prefix: str = "berthmaster") -> Iterator[Command]:
    """Yield every command, also those of groups, with its full name."""
    for info in of.registered_commands:
        if function := info.callback:
            name = info.name or function.__name__.replace("_", "-")
            yield command(f"{prefix} {name}", info.help or inspect.getdoc(function) or "", function)
    for group in of.registered_groups:
        if group.typer_instance:
            yield from commands(group.typer_instance, f"{prefix} {group.name}")


def command(name: str, text: str, function: Callable[..., Any]) -> Command:
    """Return the command that typer makes of a function."""
    arguments, options = [], []
    function = ELSEWHERE.get(function, function)
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        if get_origin(hints[parameter.name]) is not Annotated:
            continue  # the context
        kind, declared = get_args(hints[parameter.name])[:2]
        if isinstance(declared, ArgumentInfo):
            arguments.append(str(declared.metavar))
        else:
            options.append(option(parameter, kind, declared))
    return Command(name, text, tuple(arguments), tuple(options))


def option(parameter: inspect.Parameter, kind: Any, declared: OptionInfo) -> Option:
    """Return the option that typer makes of a parameter."""
    declarations = map(str, (declared.default, *(declared.param_decls or ())))
    given = [text for text in declarations if text.startswith("-")]
    spelled = ", ".join(given) or f"--{parameter.name.replace('_', '-')}"
    if kind is not bool:
        spelled += f" {declared.metavar or placeholder(kind)}"
    elif not given:
        spelled += f", --no-{spelled[2:]}"
    return Option(spelled, shown(parameter.default), declared.help or "")


def placeholder(kind: Any) -> str:
    """Return the placeholder of a value: its choices, or its type."""
    kind = next(member for member in get_args(kind) or (kind,) if member is not NoneType)
    if issubclass(kind, StrEnum):
        return "|".join(kind)
    return "NUMBER" if issubclass(kind, int | float) else "PATH" if "Path" in kind.__name__ else "TEXT"


def shown(default: Any) -> str:
    """Return a default in words, '' for None and False."""
    if default is inspect.Parameter.empty:
        return "required"
    return "" if default in (None, False) else "on" if default is True else str(default)
