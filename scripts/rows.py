"""Print the checklist rows with and without a test: `make rows`, `make rows ROWS="EV AL-0"`, `make rows ARGS=--json`.

pytest itself collects the tests, so that a row counts only if a test that would run carries its marker. A marker that
names no row is an error: a typing mistake would otherwise look like a row without a test. `--check` only reports such
markers, and reads them from the source, because collecting every test takes a minute.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from scripts.checklist import ChecklistRow, rows_of

Tests: TypeAlias = Mapping[str, Collection[str]]  # name of a row -> its tests, or places of its markers


class RowMarkers:
    """A pytest plugin that collects the tests of each row; the cases of a parametrised test count once."""

    def __init__(self) -> None:
        self.tests: dict[str, set[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Collect the markers of all tests."""
        for item in session.items:
            for name in (name for mark in item.iter_markers("row") for name in mark.args):
                self.tests.setdefault(name, set()).add(item.nodeid.partition("[")[0])


def collect(root: Path) -> Tests:
    """Collect the tests. Raises SystemExit with pytest's output if a test module cannot be collected."""
    markers, output = RowMarkers(), io.StringIO()
    arguments = ["--collect-only", "-qq", "-p", "no:cacheprovider", "--rootdir", str(root), str(root / "tests")]
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main(arguments, plugins=[markers])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        said = output.getvalue()
        raise SystemExit(said[max(0, said.find("= ERRORS =")) :])
    return markers.tests


def markers(root: Path) -> Tests:
    """Return row names -> their places in the sources, whether pytest would run the test or not. Raises SyntaxError."""
    places: dict[str, set[str]] = {}
    for path in sorted((root / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.row":
                for name in map(ast.literal_eval, node.args):
                    places.setdefault(name, set()).add(f"{path.relative_to(root)}:{node.lineno}")
    return places


def unknown(rows: Collection[ChecklistRow], tests: Tests) -> list[str]:
    """Return a line for each marker that names no row."""
    names = {row.name for row in rows}
    return [
        f"{name}: not in the checklist, named by {', '.join(sorted(tests[name]))}"
        for name in tests
        if name not in names
    ]


def selected(rows: Collection[ChecklistRow], prefixes: Sequence[str]) -> list[ChecklistRow]:
    """Return the rows whose name begins with one of the prefixes; all rows without prefixes."""
    return [row for row in rows if not prefixes or row.name.startswith(tuple(prefixes))]


def table(rows: Sequence[ChecklistRow], tests: Tests) -> str:
    """Return the rows as text, with a summary."""
    width = max((len(row.behaviour) for row in rows), default=0)
    lines = [f"{row.name}  {row.behaviour:{width}}  {shown(row, tests)}" for row in rows]
    covered = sum(row.name in tests for row in rows)
    missing = sum(row.name not in tests and not row.later for row in rows)
    return "\n".join([*lines, f"{covered} of {len(rows)} rows have a test, {missing} have none"])


def shown(row: ChecklistRow, tests: Tests) -> str:
    """Return the number of tests in words, `later` or `-`."""
    count = len(tests.get(row.name, ()))
    return f"{count} test{'s' * (count > 1)}" if count else "later" if row.later else "-"


def as_json(rows: Sequence[ChecklistRow], tests: Tests) -> str:
    """Return the rows as JSON."""
    return json.dumps(
        [{"row": row.name, "behaviour": row.behaviour, "tests": sorted(tests.get(row.name, ()))} for row in rows],
        indent=2,
    )


def main(root: Path, arguments: Sequence[str]) -> int:
    """Return the exit status: 1 if a marker names no row."""
    parser = argparse.ArgumentParser(prog="rows", description="The checklist rows with and without a test.")
    parser.add_argument("prefixes", nargs="*", metavar="ROW", help="rows to print, or beginnings: EV AL-0")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="print only markers that name no row")
    options = parser.parse_args(arguments)
    rows, tests = list(rows_of(root / "docs" / "checklist.md")), (markers if options.check else collect)(root)
    if not options.check:
        print((as_json if options.json else table)(selected(rows, options.prefixes), tests))
    wrong = unknown(rows, tests)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent.parent, sys.argv[1:]))
