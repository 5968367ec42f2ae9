"""`berthmaster doctor`: what must be so before anything can work."""

from __future__ import annotations

from typing import Annotated

import orjson
import typer
from rich.markup import escape

from workers.cli.checks import Check, examine
from workers.cli.configured import configured
from workers.cli.output import console

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table")]


def doctor(as_json: AsJson = False) -> None:
    """Checks Redis, broker and Kubernetes; exit status 1 if a check fails."""
    out, checks = console(), []
    for check in examine(configured()):
        checks.append(check)
        if not as_json:
            out.print(line(check))
    if as_json:
        typer.echo(orjson.dumps([check._asdict() for check in checks], option=orjson.OPT_INDENT_2).decode())
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def line(check: Check) -> str:
    mark = "[green]ok  [/green]" if check.ok else "[red]fail[/red]"
    return f"{mark} {escape(check.name)}: {escape(check.found)}"
