"""The check of docs/protocols.md finds what is missing, doubled or without a test, in small trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import protocols
from tests.unit.test_tooling_style import written

ROW = "| `oneway` | Releasing is final. | A port goes. | `tests/unit/test_ledger.py::test_oneway` |\n"
TEST = 'def test_oneway() -> None:\n    """Rule oneway: it stays."""\n'
OTHER = "other"  # the name of no rule, also not where the check reads this file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    written(tmp_path, "docs/protocols.md", ROW)
    return written(tmp_path, "tests/unit/test_ledger.py", TEST)


def faults(root: Path) -> list[str]:
    return list(protocols.offences(root))


def test_a_rule_that_a_test_cites_passes(root: Path) -> None:
    assert faults(root) == []


def test_a_test_within_a_class_is_found(root: Path) -> None:
    written(root, "docs/protocols.md", ROW.replace("::test", "::TestLedger::test"))
    written(root, "tests/unit/test_ledger.py", "class TestLedger:\n    " + TEST.replace("\n", "\n    ").rstrip() + "\n")
    assert faults(root) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("workers/run.py", f'"""Rule {OTHER}: it is cited, and nowhere defined."""\n'),
        ("events/lua/take.lua", f"-- Takes a key (rule `{OTHER}`).\n"),
        ("docs/ports.md", f"See rules `oneway` and\n`{OTHER}`.\n"),
        ("tests/unit/test_more.py", f'"""Rules oneway, {OTHER}."""\n'),
    ],
)
def test_a_rule_that_is_cited_and_not_defined_is_a_fault(root: Path, path: str, text: str) -> None:
    written(root, path, text)
    assert faults(root) == [f"{path}: rule `{OTHER}` is not in docs/protocols.md"]


def test_a_rule_that_is_defined_twice_is_a_fault(root: Path) -> None:
    written(root, "docs/protocols.md", ROW + "\n## More\n\n" + ROW)
    assert faults(root) == ["docs/protocols.md: rule `oneway` is defined more than once"]


@pytest.mark.parametrize("test", ["tests/unit/test_ledger.py::test_other", "tests/unit/test_gone.py::test_oneway"])
def test_a_test_that_is_not_there_is_a_fault(root: Path, test: str) -> None:
    written(root, "docs/protocols.md", ROW.replace(" |\n", f"<br>`{test}` |\n"))
    assert faults(root) == [f"docs/protocols.md: rule `oneway`: there is no {test}"]


@pytest.mark.parametrize(
    "row", [ROW.replace("test_oneway`", "test_silent`"), "| `oneway` | Releasing is final. | A port goes. | |\n"]
)
def test_a_rule_without_a_test_that_cites_it_is_a_fault(root: Path, row: str) -> None:
    written(root, "docs/protocols.md", row)
    written(root, "tests/unit/test_ledger.py", TEST + "\n\ndef test_silent() -> None:\n    pass\n")
    assert faults(root) == ["docs/protocols.md: rule `oneway`: no test of its row cites it"]


def test_prose_about_rules_cites_none(root: Path) -> None:
    written(root, "workers/prose.py", '"""Rules of concurrency. A rule has two judges. Rule and model agree."""\n')
    assert faults(root) == []


def test_the_exit_status_says_whether_something_is_wrong(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert protocols.main(root) == 0
    written(root, "docs/protocols.md", ROW + ROW)
    assert protocols.main(root) == 1
    assert "more than once" in capsys.readouterr().out
