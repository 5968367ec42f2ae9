"""Write docs/reference from the code: each field of our resources, each setting, metric, task and command.

The code is the one source of declaration and documentation: `make reference`. `--check` only reports whether the
documents are current.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from berthmaster.duration import SECONDS
from berthmaster.kinds import GROUP, VERSION
from berthmaster.runner.settings import RunnerSettings
from events.settings import ProcessSettings
from scripts import chart_values, command_line, crds, signals
from scripts.tasks import AnyTask, tasks
from workers.settings import WorkerSettings

Json = dict[str, Any]
FOLDER: Final = Path(__file__).parent.parent / "docs" / "reference"
HEADER: Final = "<!-- Written by `make reference` from the models. Do not edit. -->\n"
LIMITS: Final = {
    "minimum": "≥ {}",
    "maximum": "≤ {}",
    "minItems": "≥ {} items",
    "maxItems": "≤ {} items",
    "minLength": "≥ {} characters",
    "maxLength": "≤ {} characters",
    "minProperties": "≥ {} entries",
    "maxProperties": "≤ {} entries",
}

TASKS_WORDS: Final = """\
Any Celery client sends these tasks by name: `app.send_task(TASK, [ARGUMENT, ...], queue=QUEUE)`. Arguments are JSON, in
the order of the tables or by name. Send each task to the queue in its table, because workers read no other queue for
it. No task returns a result that a client can wait for. A task with an invalid argument ends at once: the log names the
field (`payload_refused`), and `berthmaster_payloads_refused_total` counts it. The sender of a refused `slots.submit`
[reads why](../jobs.md#from-any-celery-application) in the results of the pool. [Jobs](../jobs.md) explains `slots`, and
[claims](../claims.md#from-a-matchmaker) explains `claims`.

Workers refuse a message of another shape before any task runs: the log names its id, its task and the field
(`message_refused`), and `berthmaster_messages_refused_total` counts it by reason. Workers refuse Celery's protocol 1,
compression, a task with `link`, a chain or a chord (`canvas`: send the next task yourself), and a time more than an
hour ahead (`postponed`: send the message when the task is due). A worker keeps a shorter `eta` for at most 30 seconds.
"""
COMMAND_WORDS: Final = """\
Each command reads the [settings](settings.md) from the environment. Exit status 2 means that the command line or a
setting is wrong; most sections explain exit status 1. `berthmaster COMMAND --help` shows the same text as this page.
`berthmaster --version` prints the version. `berthmaster --install-completion` adds completion of commands and options
to your shell (bash, zsh, fish, PowerShell), and `--show-completion` only prints what it would install.
"""
CHART_WORDS: Final = """\
Values of the chart `deploy/charts/berthmaster` ([install](../install.md#with-helm)). Where `values.yaml`
has `null`, the default is that of the files of `deploy/`, which the chart and Kustomize share; without a default
nothing is set. PROCESS is any of {processes}: each has these values
besides its own, and the defaults of [its pods](#pods-of-each-process).
"""
SETTINGS: Final[tuple[tuple[str, str, type[BaseModel]], ...]] = (
    ("Workers, beat and command line", "BERTHMASTER_", WorkerSettings),
    ("Publisher", "BERTHMASTER_", ProcessSettings),
    ("Runners", "BERTHMASTER_RUNNER__", RunnerSettings),
)


def resources() -> str:
    """Return a section for each kind: the fields of its spec and status, then its rules about several fields."""
    parts = [HEADER, "# Resources\n", f"Group `{GROUP}`, version `{VERSION}`.\n"]
    for crd in crds.definitions().values():
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        scope = "one namespace" if crd["spec"]["scope"] == "Namespaced" else "the cluster"
        parts += [f"## {crd['spec']['names']['kind']}\n", f"{schema['description']} Belongs to {scope}.\n"]
        for part in ("spec", "status"):
            field = schema["properties"][part]
            rows = [row for row in fields(field, part) if row[0] != part]
            parts += [f"### {part}\n", table(("field", "type", "default", "meaning"), rows)]
            if rules := field.get("x-kubernetes-validations"):
                parts += [
                    "The API server refuses a spec with one of these messages:\n",
                    "\n".join(f"- {rule['message']}" for rule in rules) + "\n",
                ]
    return "\n".join(parts)


def fields(schema: Json, path: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each field, then for the fields of objects and lists below it."""
    default = f"`{schema['default']}`" if schema.get("default") not in (None, {}, "") else ""
    yield path.partition(".")[2] or path, type_of(schema), default, schema.get("description", "").replace("\n", " ")
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        more = {**inner, "description": f"**required**, {inner.get('description', '')}".rstrip(", ")}
        yield from fields(more if name in required else inner, f"{path}.{name}")
    if "properties" in schema.get("items", {}):
        for name, inner in schema["items"]["properties"].items():
            yield from fields(inner, f"{path}[].{name}")


def type_of(schema: Json) -> str:
    """Return the type of a field in words, with its limits."""
    kind = schema.get("type", "any")
    if "enum" in schema:
        kind = " \\| ".join(map(str, schema["enum"]))
    elif kind == "array":
        kind = f"list of {schema.get('items', {}).get('type', 'any')}"
    elif isinstance(schema.get("additionalProperties"), dict):
        kind = "labels" if "pattern" in schema["additionalProperties"] else "map of strings"
    limits = [words.format(schema[name]) for name, words in LIMITS.items() if name in schema]
    return ", ".join([kind, *limits])


def settings() -> str:
    """Return a section for each group of variables, for worker (with beat, Flower and command line) and publisher."""
    parts = [HEADER, "# Settings\n", "Settings are environment variables. Durations are written `90s`, `10m`, `24h`.\n"]
    for title, prefix, model in SETTINGS:
        rows = list(variables(model, prefix))
        parts += [f"## {title}\n", table(("variable", "default", "meaning"), rows)]
    return "\n".join(parts)


def variables(model: type[BaseModel], prefix: str, filled: BaseModel | None = None) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a group, required ones first. `filled`: its default, if its class has another."""
    fields = sorted(model.model_fields.items(), key=lambda item: not item[1].is_required())
    for name, field in fields:
        variable, value = f"{prefix}{name.upper()}", getattr(filled, name) if filled else field.default
        if inner := nested(field):
            yield from variables(inner, f"{variable}__", value if isinstance(value, BaseModel) else None)
        else:
            yield f"`{variable}`", shown(value), escaped(field.description or "")


def nested(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a group of settings, None for a single setting."""
    options = (field.annotation, *get_args(field.annotation))
    return next((option for option in options if isinstance(option, type) and issubclass(option, BaseModel)), None)


def shown(value: object) -> str:
    """Return a default in words, '' for none."""
    if value is PydanticUndefined:
        return "required"
    if value is None or str(value) == "":
        return ""
    if isinstance(value, Path):
        return f"`{value}`".replace(tempfile.gettempdir(), "$TMPDIR")
    return f"`{written(value) if isinstance(value, timedelta) else value}`"


def written(time: timedelta) -> str:
    """Return a time in the largest unit that gives a whole number."""
    units = {name: timedelta(seconds=SECONDS[name]) for name in ("d", "h", "m", "s", "ms")}
    unit = next(name for name, length in units.items() if not time % length)
    return f"{time // units[unit]}{unit}"


def metrics() -> str:
    """Return the page about metrics."""
    rows = [(f"`{metric.name}`", metric.kind, ", ".join(metric.labels), metric.text) for metric in signals.metrics()]
    words = "Workers and the publisher (`berthmaster_publisher_...`) export these ([operations](../operations.md))."
    return "\n".join([HEADER, "# Metrics\n", f"{words}\n", table(("metric", "kind", "labels", "meaning"), rows)])


def celery_tasks() -> str:
    """Return a section for each task that other services send, and a table of internal tasks."""
    documented = tasks()
    own = [(f"`{task.name}`", f"`{task.queue}`", arguments(task), task.text) for task in documented if not task.public]
    parts = [HEADER, "# Tasks\n", TASKS_WORDS]
    for task in (task for task in documented if task.public):
        rows = [row for row in fields(task.schema, "task") if row[0] != "task"]
        said = f"{task.text} Queue `{task.queue}`.\n"
        parts += [f"## {task.name}\n", said, table(("argument", "type", "default", "meaning"), rows)]
    parts += ["## Internal tasks\n", "Berthmaster sends these tasks to itself.\n"]
    return "\n".join([*parts, table(("task", "queue", "arguments", "what it does"), own)])


def arguments(task: AnyTask) -> str:
    """Return the names of a task's arguments."""
    return ", ".join(task.schema.get("properties", {}))


def commands() -> str:
    """Return a section for each command."""
    parts = [HEADER, "# Command line\n", COMMAND_WORDS]
    for command in command_line.commands():
        parts += [f"## {command.name}\n", f"`{command.usage}`\n", f"{command.text}\n"]
        if command.options:
            rows = [(f"`{o.name}`", f"`{o.default}`" if o.default else "", o.text) for o in command.options]
            parts.append(table(("option", "default", "meaning"), [tuple(map(escaped, row)) for row in rows]))
    return "\n".join(parts)


def chart() -> str:
    """Return the page about the values of the Helm chart."""
    words = CHART_WORDS.format(processes=", ".join(f"`{name}`" for name in chart_values.PROCESSES))
    values = table(("value", "default", "meaning"), [tuple(map(escaped, row)) for row in chart_values.rows()])
    pods = table(("PROCESS", *(f"`{name}`" for name in chart_values.OWN)), list(chart_values.rows_of_processes()))
    return "\n".join([HEADER, "# Helm\n", words, values, "## Pods of each process\n", pods])


def escaped(cell: str) -> str:
    """Return a text for a cell of a table."""
    return cell.replace("\n", " ").replace("|", "\\|")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def documents() -> dict[str, str]:
    """Return the text of each document."""
    return {
        "cli.md": commands(),
        "helm.md": chart(),
        "metrics.md": metrics(),
        "resources.md": resources(),
        "settings.md": settings(),
        "tasks.md": celery_tasks(),
    }


def stale(folder: Path) -> list[str]:
    """Return the names of the documents that differ from the models."""
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    wanted = documents()
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def main(folder: Path, arguments: Sequence[str]) -> int:
    """Return the exit status: 1 if a document differs from the models."""
    if "--check" not in arguments:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in documents().items():
            (folder / name).write_text(text, encoding="utf-8")
    wrong = stale(folder)
    print(f"reference: {'not as the models say, run make reference: ' + ', '.join(wrong) if wrong else 'current'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(FOLDER, sys.argv[1:]))
