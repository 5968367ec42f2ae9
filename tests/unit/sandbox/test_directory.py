"""The sandbox's directory is its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from compose.sandbox.directory import DirectoryRefused, sandbox_directory


def test_files_of_somebody_else_are_never_removed(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    with pytest.raises(DirectoryRefused, match="not a sandbox's"), sandbox_directory(tmp_path):
        pass
    assert (tmp_path / "letter").read_text() == "dear"


def test_what_an_earlier_sandbox_left_is_removed(tmp_path: Path) -> None:
    with sandbox_directory(tmp_path / "new") as directory:
        (directory / "redis").mkdir()
        (directory / "redis" / "data").write_text("old")
        (directory / "env").write_text("old")
    with sandbox_directory(tmp_path / "new") as directory:
        assert [path.name for path in directory.iterdir()] == ["sandbox.lock"]


def test_a_link_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").write_text("dear")
    with sandbox_directory(tmp_path / "new") as directory:
        (directory / "link").symlink_to(tmp_path / "home")
    with sandbox_directory(tmp_path / "new") as directory:
        assert not (directory / "link").is_symlink()
    assert (tmp_path / "home" / "letter").exists()


def test_two_sandboxes_do_not_share_a_directory(tmp_path: Path) -> None:
    with (
        sandbox_directory(tmp_path),
        pytest.raises(DirectoryRefused, match="already"),
        sandbox_directory(tmp_path),
    ):
        pass


def test_a_place_that_cannot_be_written_is_refused_in_words() -> None:
    with pytest.raises(DirectoryRefused, match="cannot be used"), sandbox_directory(Path("/proc/sandbox")):
        pass
