"""The roles of deploy/base say of our own kinds what the table of kinds says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scripts import access

FILES = ("publisher-access.yaml", "tenant-access.yaml", "worker-access.yaml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file in FILES:
        shutil.copy(access.FOLDER / file, tmp_path / file)
    return tmp_path


@pytest.mark.row("EV-18")
def test_the_files_are_what_the_generator_writes() -> None:
    assert access.stale(access.FOLDER) == {}, "run `make crds`"


@pytest.mark.row("EV-18")
@pytest.mark.parametrize("file", FILES)
def test_a_rule_that_was_edited_is_noticed_and_written_again(folder: Path, file: str) -> None:
    right = (folder / file).read_text()
    above, marker, below = right.rpartition(access.MARKER)
    (folder / file).write_text(above + marker + below.replace("verbs: [", "verbs: [create, ", 1))
    assert access.main(folder, ["--check"]) == 1
    assert list(access.stale(folder)) == [file]
    assert access.main(folder, []) == 0
    assert (folder / file).read_text() == right


def test_every_file_with_a_rule_of_ours_is_tried_here() -> None:
    assert sorted({file for file, _ in access.roles()}) == list(FILES)


def test_what_stands_above_the_rules_is_kept(folder: Path) -> None:
    worker = folder / "worker-access.yaml"
    changed = worker.read_text().replace("# the readiness gate", "# another comment")
    worker.write_text(changed)
    assert access.main(folder, []) == 0
    assert worker.read_text() == changed


def test_a_role_without_the_marker_is_refused(folder: Path) -> None:
    tenants = folder / "tenant-access.yaml"
    above, _, below = tenants.read_text().rpartition(access.MARKER)
    tenants.write_text(above + below)
    with pytest.raises(ValueError, match="no ClusterRole berthmaster-edit"):
        access.main(folder, ["--check"])
