"""The Celery tasks' part of the reference: names, queues and arguments.

The tasks are read from their source, because Celery returns what is registered under a name, and an earlier test may
have registered something else.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from berthmaster import routing
from scripts.structural_schema import structural
from workers.app import TASKS

Json = dict[str, Any]


class AnyTask(NamedTuple):
    """A task. `schema`: an object with its arguments by name, in their order."""

    name: str
    text: str
    schema: Json

    @property
    def queue(self) -> str:
        """The queue that the task is sent to."""
        return routing.QUEUES[self.name]

    @property
    def public(self) -> bool:
        """Whether other services send the task."""
        return self.queue == routing.JOBS or self.name in routing.RECONCILERS.values()


def tasks() -> list[AnyTask]:
    """Return the tasks in the order of routing.QUEUES. Raises LookupError if no module of workers/tasks has one."""
    names = by_name()
    if absent := [name for name in routing.QUEUES if name not in names]:
        raise LookupError(f"no module of workers/tasks has {', '.join(absent)}")
    return [names[name] for name in routing.QUEUES]


def by_name() -> dict[str, AnyTask]:
    """Return all tasks of workers/tasks by name."""
    return {task.name: task for module in TASKS for task in _of(module)}


def _of(name: str) -> Iterator[AnyTask]:
    """Yield each function below `@shared_task(name=OWNER.NAME)`, of routing or of a kind, and `@takes(PAYLOAD)`."""
    module = import_module(name)
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.FunctionDef(
                decorator_list=[
                    ast.Call(
                        func=ast.Name(id="shared_task"),
                        keywords=[ast.keyword(value=ast.Attribute(value=ast.Name(id=owner), attr=task)), *_],
                    ),
                    ast.Call(func=ast.Name(id="takes"), args=[ast.Name(id=payload), *_]),
                ]
            ):
                schema = structural(getattr(module, payload).model_json_schema())
                yield AnyTask(getattr(getattr(module, owner), task), ast.get_docstring(node) or "", schema)
