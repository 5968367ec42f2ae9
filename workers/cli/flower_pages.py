"""The configuration file of Flower: its pages show arguments and result of each task, also in the table.

Flower reads it as a file (`--conf`); the names in it are Flower's options.
"""

from __future__ import annotations

from ast import literal_eval
from typing import Any

from domain.visible import visible

SHOWN = ("name", "args", "kwargs", "result", "exception", "traceback")
"""Fields of a task that its sender or its worker fills in."""
tasks_columns = "name,args,state,result,received,runtime,uuid"  # only the uuid leads to the page of a task


def format_task(task: Any) -> Any:
    """Make a task readable; Flower passes a copy. A cell shows about fifty letters, so results omit the arguments."""
    task.args = arguments(task.args or "")
    task.result = result(task.result or "", task.args)
    for name in SHOWN:
        value = getattr(task, name, None)
        setattr(task, name, visible(value) if isinstance(value, str) else value)
    return task


def arguments(text: str) -> str:
    """Return the arguments of a task as people read them."""
    value = literal(text)
    return ", ".join(str(argument) for argument in value) if isinstance(value, tuple) else text


def result(text: str, asked: str) -> str:
    """Return the result without words that repeat the arguments.

    `asked`: the arguments, in most tasks a key: KIND/NAME or KIND/NAMESPACE/NAME.
    """
    name = asked.partition("/")[2]
    namespace, _, claim = name.partition("/")
    redundant = {f"{label}={name}" for label in ("pod", "pool")} | {f"namespace={namespace}", f"claim={claim}"}
    lines = str(literal(text) or "").split("; ")
    return "; ".join(" ".join(word for word in line.split(" ") if word not in redundant) for line in lines)


def literal(text: str) -> Any:
    """Parse a Python literal. Returns the text itself if Celery has truncated it."""
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return text
