"""Write the generated part of docs/events.md: every type of event, and the models of berthmaster/events.py.

`make reference`. `--check` only reports whether the part is current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from berthmaster.events import (
    AllocationFailed,
    Changed,
    CloudEvent,
    Contract,
    EventType,
    JobDecided,
    ObjectSnapshot,
    PodSnapshot,
    event_types,
)
from scripts.reference import table

PAGE: Final = Path(__file__).parent.parent / "docs" / "events.md"
BEGIN: Final = (
    "<!-- Written by `make reference` from berthmaster/events.py. Do not edit up to the end of this part. -->\n"
)
END: Final = "<!-- End of the written part. -->\n"
MODELS: Final[Sequence[type[Contract]]] = (
    *(CloudEvent, Changed, PodSnapshot, ObjectSnapshot),
    *(AllocationFailed, JobDecided),
)
Json = dict[str, Any]


def current(page: str) -> str:
    """Return the page with its generated part as the models have it. Raises ValueError if the page has no such part."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} lacks the marks of its generated part")
    return f"{before}{BEGIN}\n{part()}\n{END}{after}"


def part() -> str:
    """Return the tables."""
    rows = [(f"`{kind.name}`", f"`{kind.source}`", kind.text, _data(kind)) for kind in event_types()]
    return "\n".join([table(("type", "source", "when", "data"), rows), *map(_section, MODELS)])


def _data(kind: EventType) -> str:
    data = f"[{kind.data.__name__}](#{kind.data.__name__.lower()})"
    return f"{data} with {kind.snapshot.__name__}" if kind.snapshot else data


def _section(model: type[Contract]) -> str:
    schema = model.model_json_schema()
    required = schema.get("required", ())
    rows = [
        (f"`{name}`", _type(field) + ("" if name in required else ", may be missing"), _line(field))
        for name, field in schema["properties"].items()
    ]
    return f"### {model.__name__}\n\n{schema['description']}\n\n{table(('field', 'type', 'meaning'), rows)}"


def _type(field: Json) -> str:
    """Return the type of a field in words."""
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(_type(option) for option in field["anyOf"])
    if field["type"] == "array":
        return f"list of {_type(field['items'])}"
    return "time (RFC 3339)" if field.get("format") == "date-time" else str(field["type"])


def _line(field: Json) -> str:
    return re.sub(r"\s+", " ", str(field.get("description", "")))


def main(page: Path, arguments: Sequence[str]) -> int:
    """Write the part, or only check it. Return the exit status: 1 if it differs from the models."""
    text = page.read_text(encoding="utf-8")
    wanted = current(text)
    if "--check" not in arguments:
        page.write_text(wanted, encoding="utf-8")
        text = wanted
    print(f"events: {'current' if text == wanted else 'not as the models say, run make reference'}")
    return int(text != wanted)


if __name__ == "__main__":
    sys.exit(main(PAGE, sys.argv[1:]))
