"""The runner's side of the slot ledger: asks before a start, stores attempts, reports outcomes, and repeats reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from math import isfinite

from berthmaster.errors import TransientError
from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import JobState, Placed, slot_class
from berthmaster.jobs.runner_ledger import Answer, LogBounds, Report, RunnerLedger
from berthmaster.logger import get_logger
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.refusals import warn
from berthmaster.runner.capture import CAPTURE
from berthmaster.runner.log import AttemptLog
from berthmaster.runner.settings import RunnerSettings
from berthmaster.runner.spool import Kept, Spool, Stage

log = get_logger(__name__)
AWAY = (*OUTAGE, TransientError)
Stop = Callable[[str], bool]


@lru_cache(maxsize=1)
def own_version() -> str | None:
    """Return the version of this runner, None where it was not installed as a distribution."""
    try:
        return version("berthmaster")
    except PackageNotFoundError:
        return None


class Attempts:
    """The attempts of one pod. `start` and `end` may run in a child process, `beat` in one thread of the worker."""

    def __init__(self, settings: RunnerSettings, ledger: RunnerLedger, dispatcher: Dispatcher, spool: Spool) -> None:
        self._settings, self._ledger, self._dispatcher, self._spool = settings, ledger, dispatcher, spool
        self._layout = tuple(slot_class(accepts) for accepts in settings.slots)
        self._mark: str | None = None
        self._grants = 0

    def start(self, placed: Placed) -> bool:
        """Ask whether the attempt may start. False: no. Raises while Redis is away or not verified: ask again."""
        with self._spool.asking(placed.id, placed.attempt):
            started = self._ledger.start(placed.id, placed.phase, placed.attempt, placed.uid)
            if not started:
                return False
            try:
                self._spool.put(Kept(placed.job, placed.attempt, placed.phase, started.slot))
            except OSError as error:  # what is not remembered is taken for lost, and would be started again for ever
                self._tell(placed, f"the runner cannot remember that it runs: {error}")
                return False
        if started.plan:
            self._spool.drop(started.plan)
        log.info("job_started", job=placed.id, phase=placed.phase, attempt=placed.attempt, slot=started.slot)
        return True

    @contextmanager
    def logged(self, placed: Placed) -> Iterator[None]:
        """Keep what the attempt prints and logs, until it is over."""
        bounds = LogBounds(self._settings.log_bytes, self._settings.pool_log_bytes)
        if not bounds.attempt:
            yield
            return
        append = partial(self._ledger.append_log, placed.id, placed.attempt, placed.phase, bounds=bounds)
        attempt_log = AttemptLog(append, bounds.attempt, CAPTURE.mute)
        try:
            with CAPTURE.to(attempt_log):
                yield
        finally:
            attempt_log.close()

    def end(self, attempt: str, outcome: str, result: str = "") -> None:
        """Store the outcome, then report it. If the report fails, the next periodic report contains the outcome.

        What fails after it was asked to stop counts as cancelled: most processes end by SIGTERM with an error.
        """
        self._spool.answered(attempt)
        kept = self._spool.get(attempt)
        if not kept or kept.stage is not Stage.RUNNING:
            return
        if outcome == "failed" and self._spool.stopped(attempt):
            outcome = "cancelled"
        kept = kept.after(outcome, result)
        self._remember(kept)
        log.info("job_ended", job=kept.job.id, phase=kept.phase, attempt=attempt, outcome=outcome)
        try:
            change = self._ledger.finish(kept.job.id, kept.phase, attempt, outcome, result)
        except AWAY as error:
            warn(log, "end_untold", error, job=kept.job.id, attempt=attempt)
            return
        if change.state != JobState.UNKNOWN:  # else the record is lost, and the next report restores it
            self._remember(replace(kept, acknowledged=True))
        self._dispatcher.dispatch(change.placed)

    def _tell(self, placed: Placed, why: str) -> None:
        log.error("start_not_remembered", job=placed.id, attempt=placed.attempt, reason=why)
        change = self._ledger.finish(placed.id, placed.phase, placed.attempt, "failed", why)
        self._dispatcher.dispatch(change.placed)

    def _remember(self, kept: Kept) -> None:
        """Store an attempt. A full disk does not keep the outcome from the ledger."""
        try:
            self._spool.put(kept)
        except OSError:
            log.exception("end_not_remembered", job=kept.job.id, attempt=kept.attempt)

    def lost(self) -> None:
        """Drop the running attempts when a worker starts anew: their processes died with the previous worker."""
        for _, attempt in self._spool.asked():
            self._spool.answered(attempt)
        for kept in self._spool.all():
            if kept.stage is Stage.RUNNING:
                self._spool.drop(kept.attempt)

    def beat(self, stop: Stop) -> Answer:
        """Report everything; `stop(attempt)` ends a process, and returns whether there was one.

        After a ledger loss, report only when no earlier start can still be granted.
        """
        answer, kept = self._reported(self._mark)
        if not answer.accepted and not self._spool.asked():
            answer, kept = self._reported(answer.mark, anew=True)
        if not answer.accepted:
            return answer
        self._mark, self._grants = answer.mark, answer.grants
        self._acknowledge(answer)
        for attempt in answer.stop:
            self._stop(attempt, stop)
        self._dispatcher.dispatch(answer.placed)
        self._spool.forget_old(kept)
        return answer

    def _reported(self, mark: str | None, *, anew: bool = False) -> tuple[Answer, list[Kept]]:
        """Send a report. `anew`: with all outcomes, acknowledged or not.

        Questions are read first: a start that is granted meanwhile is then among the stored attempts.
        """
        asked, kept = self._spool.asked(), self._spool.all()
        unreported = [k for k in kept if k.stage is not Stage.RUNNING and (anew or not k.acknowledged)]
        who = self._settings
        answer = self._ledger.report(
            Report(
                who.uid,
                who.pod,
                self._layout,
                mark,
                self._grants,
                running=tuple((k.job.id, k.attempt, k.phase, k.slot) for k in kept if k.stage is Stage.RUNNING),
                reserved=tuple((k.job.id, k.attempt, k.phase, k.slot) for k in kept if k.stage is Stage.HELD),
                ended=tuple((k.job.id, k.attempt, k.phase, k.outcome, k.result) for k in unreported),
                jobs=tuple({k.job.id: k.job for k in kept}.values()) if anew else (),
                asked=tuple(asked),
                ran=tuple(self._ran(k.attempt) for k in kept if k.job.run_ms and k.stage is Stage.RUNNING),
                version=own_version(),
            )
        )
        return answer, kept

    def _ran(self, attempt: str) -> tuple[str, int]:
        """Return the attempt and for how many ms it has run, which a new Redis cannot know otherwise."""
        age = self._spool.age(attempt)
        return attempt, round(1000 * age) if isfinite(age) else 0

    def _acknowledge(self, answer: Answer) -> None:
        for attempt in answer.acknowledged:
            kept = self._spool.get(attempt)
            if kept and not kept.acknowledged:
                self._spool.put(replace(kept, acknowledged=True))

    def _stop(self, attempt: str, stop: Stop) -> None:
        kept = self._spool.get(attempt)
        if not kept or kept.stage is Stage.ENDED:
            return
        if kept.stage is Stage.HELD:
            self._spool.drop(attempt)
            return
        self._spool.stop(attempt)
        if not stop(attempt):
            self.end(attempt, "cancelled")
