"""Whether a command line is one that `berthmaster` understands, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from workers.cli.main import app


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
