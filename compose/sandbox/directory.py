"""The directory of a sandbox: logs, data, kubeconfig. The next start empties it, and refuses any other directory."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARKER = "sandbox.lock"


class DirectoryRefused(Exception):  # noqa: N818 - says what happened
    """The directory cannot be used for a sandbox. The message says why and what to do."""


@contextmanager
def sandbox_directory(path: Path) -> Iterator[Path]:
    """Lock the directory for this context, and empty it. Raises DirectoryRefused."""
    directory = path.absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        entries = sorted(directory.iterdir())
        if entries and not (directory / MARKER).exists():
            raise DirectoryRefused(
                f"{path} has files that are not a sandbox's: name an empty or new directory by --dir"
            )
        marker = (directory / MARKER).open("a+")
    except OSError as error:
        raise DirectoryRefused(f"{path} cannot be used ({error.strerror}): name another directory by --dir") from None
    with marker:
        try:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DirectoryRefused(f"a sandbox runs in {path} already: name another directory by --dir") from None
        empty(directory)
        yield directory


def empty(directory: Path) -> None:
    """Delete everything in the directory but the marker."""
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != MARKER:
            Path(entry.path).unlink()
