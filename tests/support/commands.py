"""Whether a command line is one that `berthmaster` understands, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from workers.cli.main import app


def command_of(words: Sequence[str]) -> Any:
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    return command


def options_of(words: Sequence[str]) -> set[str]:
    """Of the command that the words name, as typer has made them; every command has --help."""
    params = command_of(words).params
    return {spelled for each in params for spelled in (*each.opts, *each.secondary_opts) if spelled[0] == "-"}


def number_of_commands(words: Sequence[str] = ()) -> int:
    """That do something, below the one that the words name."""
    below = getattr(command_of(words), "commands", None)
    return 1 if below is None else sum(number_of_commands([*words, word]) for word in below)


def unknown_words(arguments: Sequence[str]) -> list[str]:
    """Words that no command or option of ours explains; [] for a command line that is right."""
    command: Any = typer.main.get_command(app)
    rest = list(arguments)
    while hasattr(command, "commands"):
        if not rest or rest[0] not in command.commands:
            return rest or ["(no command)"]
        command = command.commands[rest.pop(0)]
    context = command.context_class(command, allow_extra_args=True, ignore_unknown_options=True)
    _, left, _ = command.make_parser(context).parse_args(args=rest)
    return list(left)
