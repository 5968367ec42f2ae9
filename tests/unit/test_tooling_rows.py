"""The list of promises and their tests tells the truth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.checklist import rows_of

REPOSITORY = Path(__file__).parents[2]
RUN = "import sys, pathlib, scripts.rows; sys.exit(scripts.rows.main(pathlib.Path(sys.argv[1]), sys.argv[2:]))"
CHECKLIST = """# Checklist

| row | behaviour | shown by |
|---|---|---|
| AL-01 | unique ports | no port twice |
| AL-02 | atomic | never both |
| EV-01 | restart [later] | none missed |
"""
TESTS = """
import pytest

@pytest.mark.row("AL-01", "EV-01")
@pytest.mark.parametrize("n", [1, 2])
def test_a_port_has_one_owner(n): ...
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "docs" / "checklist.md").write_text(CHECKLIST, encoding="utf-8")
    (tmp_path / "tests" / "test_ports.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def rows(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN, str(tree), *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)


def test_rows_with_and_without_a_test_are_told_apart(tree: Path) -> None:
    answer = rows(tree, "AL")
    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    assert lines[0].split() == ["AL-01", "unique", "ports", "1", "test"]
    assert lines[1].split() == ["AL-02", "atomic", "-"]
    assert lines[2:] == ["1 of 2 rows have a test, 1 have none"]


def test_the_cases_of_a_parametrised_test_count_once(tree: Path) -> None:
    answer = json.loads(rows(tree, "--json", "AL-01").stdout)
    assert answer == [
        {"row": "AL-01", "behaviour": "unique ports", "tests": ["tests/test_ports.py::test_a_port_has_one_owner"]}
    ]


def test_a_marker_that_names_no_row_is_an_error(tree: Path) -> None:
    wrong = TESTS.replace("EV-01", "EV-99").replace("def test_a_port", "def test_another_port")
    (tree / "tests" / "test_wrong.py").write_text(wrong, encoding="utf-8")
    answer = rows(tree, "--check")
    assert answer.returncode == 1
    assert "EV-99: not in the checklist, named by tests/test_wrong.py:4" in answer.stderr


def test_a_marker_outside_a_decorator_is_checked_as_well(tree: Path) -> None:
    (tree / "tests" / "test_wrong.py").write_text("import pytest\nTestX = pytest.mark.row('AL-77')(object)\n")
    answer = rows(tree, "--check")
    assert answer.returncode == 1
    assert "AL-77: not in the checklist, named by tests/test_wrong.py:2" in answer.stderr


def test_a_test_module_that_cannot_be_imported_is_an_error(tree: Path) -> None:
    (tree / "tests" / "test_broken.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    answer = rows(tree)
    assert answer.returncode == 1
    assert "nowhere_at_all" in answer.stderr


def test_every_row_of_our_checklist_is_read_and_named_once() -> None:
    checklist = REPOSITORY / "docs" / "checklist.md"
    names = [row.name for row in rows_of(checklist)]
    table_lines = [line for line in checklist.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    titles = [line for line in table_lines if line.startswith("| row |")]
    assert len(names) == len(table_lines) - len(titles)
    assert len(names) == len(set(names))
