"""A runner's attempts, in files: they outlive a killed process and a restart of the worker."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

import orjson

from berthmaster.clock import age, touch
from berthmaster.jobs.job import Job, WhenLost
from berthmaster.logger import get_logger

log = get_logger(__name__)
MOST_ENDED: Final = 1000
LONGEST_QUESTION: Final = 120.0  # seconds; whoever asked for longer is taken for dead


class Stage(StrEnum):
    """How far an attempt has come."""

    RUNNING = "running"
    HELD = "held"  # ended well, and its slot is kept for the next phase
    ENDED = "ended"


@dataclass(frozen=True)
class Kept:
    """A stored attempt. `acknowledged`: the ledger has acknowledged the outcome."""

    job: Job
    attempt: str
    phase: str
    slot: int
    stage: Stage = Stage.RUNNING
    outcome: str = ""
    result: str = ""
    acknowledged: bool = False

    def after(self, outcome: str, result: str) -> Kept:
        """Return the attempt as it is after the outcome: held if a further phase follows a success, else ended."""
        more = outcome == "succeeded" and self.phase != self.job.phases[-1]
        return replace(self, stage=Stage.HELD if more else Stage.ENDED, outcome=outcome, result=result)


class Spool:
    """The directory of stored attempts: one file an attempt, replaced as a whole."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def put(self, kept: Kept) -> None:
        """Write the attempt's file, through a file beside it that then replaces it."""
        path = self._path(kept.attempt)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(orjson.dumps(asdict(kept)))
        touch(part)
        part.replace(path)

    def age(self, attempt: str) -> float:
        """Return the seconds since the attempt's file was written: of a running one, since its start."""
        return age(self._path(attempt))

    def get(self, attempt: str) -> Kept | None:
        """Read an attempt. None: it has no file, or one that is broken, which is logged."""
        try:
            kept = _read(self._path(attempt).read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError):
            log.exception("spool_file_broken", attempt=attempt)
            return None
        return kept if kept.attempt == attempt else None

    @contextmanager
    def asking(self, job: str, attempt: str) -> Iterator[None]:
        """Keep a note while the question whether an attempt may start is open: its answer may come late."""
        path = self._directory / f"{attempt}.{os.getpid()}-{threading.get_ident()}.asked"
        with suppress(OSError):  # a disk that is full: what cannot be remembered is not started either
            part = path.with_suffix(".part")
            part.write_text(job)
            touch(part)
            part.replace(path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)

    def asked(self) -> list[tuple[str, str]]:
        """Return job and attempt of each start that may yet be granted."""
        return list(self._asked())

    def answered(self, attempt: str) -> None:
        """Delete the attempt's open questions: the process that asked is dead."""
        for path in self._directory.glob(f"{attempt}.*.asked"):
            path.unlink(missing_ok=True)

    def _asked(self) -> Iterator[tuple[str, str]]:
        for path in self._directory.glob("*.asked"):
            with suppress(FileNotFoundError):
                if age(path) < LONGEST_QUESTION:
                    yield path.read_text(), path.name.partition(".")[0]

    def stop(self, attempt: str) -> None:
        """Note that the attempt is asked to stop, for the process that will end it."""
        with suppress(OSError):  # a disk that is full
            self._note(attempt).touch()

    def stopped(self, attempt: str) -> bool:
        """Whether the attempt was asked to stop."""
        return self._note(attempt).exists()

    def drop(self, attempt: str) -> None:
        """Delete the attempt's files, if there are any."""
        self._path(attempt).unlink(missing_ok=True)
        self._note(attempt).unlink(missing_ok=True)

    def all(self) -> list[Kept]:
        """Return the attempts, the oldest first."""
        return sorted(self._all(), key=lambda kept: _order(kept.attempt))

    def forget_old(self, all_kept: list[Kept]) -> None:
        """Delete acknowledged outcomes beyond the last thousand."""
        acknowledged = [kept for kept in all_kept if kept.stage is Stage.ENDED and kept.acknowledged]
        for kept in acknowledged[:-MOST_ENDED]:
            self.drop(kept.attempt)

    def _all(self) -> Iterator[Kept]:
        for path in self._directory.glob("*.json"):
            if kept := self.get(path.stem):
                yield kept

    def _path(self, attempt: str) -> Path:
        return self._directory / f"{attempt}.json"

    def _note(self, attempt: str) -> Path:
        return self._directory / f"{attempt}.stop"


def _order(attempt: str) -> tuple[int, int]:
    mark, _, number = attempt.partition("-")
    return int(mark), int(number)


def _read(text: bytes) -> Kept:
    fields = orjson.loads(text)
    job = fields["job"]
    job |= {"phases": tuple(job["phases"]), "when_lost": WhenLost(job["when_lost"])}
    return Kept(**fields | {"job": Job(**job), "stage": Stage(fields["stage"])})
