"""Write the chart's values.yaml and its page of the reference from values.schema.json: `make reference`.

The schema is the one source of names, defaults and descriptions. `--check` only reports whether values.yaml is current;
scripts.reference does the same for the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from scripts.chart_defaults import deployed

Json = dict[str, Any]
CHART: Final = Path(__file__).parent.parent / "deploy" / "charts" / "berthmaster"
HEADER: Final = """\
# Written by `make reference` from values.schema.json. Do not edit: give your values to Helm in a file of your own.
# A value that is null leaves what the files of deploy/ say ("Without it"). docs/reference/helm.md has it as a table."""
OWN: Final = ("resources", "terminationGracePeriodSeconds", "topologySpreadConstraints")
"""Values that all pods have in common, and whose defaults differ."""
PROCESSES: Final = ("publisher", "worker", "beat", "flower", "redis")


class ChartValue(NamedTuple):
    """A value or a group of values. `path` has its names; `default` is None where `deployed` counts.

    `must_be_there`: null, by which Helm removes a value, is refused.
    """

    path: tuple[str, ...]
    schema: Json
    must_be_there: bool

    @property
    def is_group(self) -> bool:
        """Whether it has values of its own."""
        return "properties" in self.schema

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.must_be_there and not self.is_group and "default" not in self.schema

    @property
    def default(self) -> Any:
        """Its default, None for that of the files in deploy/."""
        return self.schema.get("default")

    @property
    def deployed(self) -> Any:
        """What the files of deploy/ say where there is no default, None for nothing."""
        return None if self.is_group or self.default is not None else deployed(self.path)

    @property
    def words(self) -> str:
        """Its description."""
        return str(self.schema["description"])


def schema() -> Json:
    """Return the schema."""
    body: Json = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    return body


def resolved(part: Json, root: Json) -> Json:
    """Return a part of the schema with what it refers to; what it says itself counts first, properties add up."""
    target = root["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else {}
    properties = {**part.get("properties", {}), **target.get("properties", {})}
    return {**target, **part, **({"properties": properties} if properties else {})}


def walk(part: Json, root: Json, path: tuple[str, ...] = ()) -> Iterator[ChartValue]:
    """Yield every value below `part`, each group before what is in it. What is for parent charts alone is left out."""
    for name, inner in part["properties"].items():
        if (*path, name) not in (("global",), ("enabled",)):
            value = ChartValue((*path, name), resolved(inner, root), name in part.get("required", ()))
            yield value
            if value.is_group:
                yield from walk(value.schema, root, value.path)


def values_yaml() -> str:
    """Return values.yaml, with the description of each value as a comment."""
    body, lines = schema(), [HEADER]
    for value in walk(body, body):
        indent = "  " * (len(value.path) - 1)
        lines += ["\n"[bool(indent) :] + f"{indent}# {comment(value)}", indent + assignment(value)]
    return "\n".join(lines) + "\n"


def comment(value: ChartValue) -> str:
    """Return the description of a value, with what counts without it."""
    return value.words if value.deployed is None else f"{value.words} Without it: {json.dumps(value.deployed)}"


def assignment(value: ChartValue) -> str:
    """Return the line that sets a value to its default; one that has no default is a comment."""
    name = f"{value.path[-1]}:"
    if value.required:
        return f"# {name} REQUIRED"
    return name if value.is_group else f"{name} {json.dumps(value.default)}"


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield name, default and meaning of each value; what all pods have in common stands once, as PROCESS."""
    body = schema()
    common = body["$defs"]["pod"]["properties"]
    for value in walk(body, body):
        is_common = value.path[0] in PROCESSES and value.path[-1] in common
        if not is_common and (len(value.path) == 1 or not value.is_group):
            yield row(value, ".".join(value.path))
    for value in walk(body["$defs"]["pod"], body):
        yield row(value, f"PROCESS.{value.path[-1]}")


def row(value: ChartValue, name: str) -> tuple[str, str, str]:
    """Return the row of a value in the reference."""
    default = value.deployed if value.default is None else value.default
    shown = "required" if value.required else "" if default is None else f"`{json.dumps(default)}`"
    return f"`{name}`", shown, value.words


def rows_of_processes() -> Iterator[tuple[str, ...]]:
    """Yield what the pods of each process have by themselves: a name, then a cell for each of OWN."""
    for process in PROCESSES:
        defaults = (deployed((process, name)) for name in OWN)
        yield f"`{process}`", *("" if default is None else f"`{json.dumps(default)}`" for default in defaults)


def main(arguments: Sequence[str]) -> int:
    """Return the exit status: 1 if values.yaml differs from the schema."""
    path = CHART / "values.yaml"
    if "--check" not in arguments:
        path.write_text(values_yaml(), encoding="utf-8")
    current = path.read_text(encoding="utf-8") == values_yaml()
    print(f"chart values: {'current' if current else 'not as the schema says, run make reference'}")
    return int(not current)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
