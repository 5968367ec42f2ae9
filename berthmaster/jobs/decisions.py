"""What one client has decided about jobs, so that it can repeat a decision whose message was lost."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST: Final = 10_000


class JobDecision(NamedTuple):
    """What somebody has decided about a job. `plan`: the attempt that was confirmed, None if the job was cancelled."""

    plan: str | None
    by: str | None

    @property
    def cancels(self) -> bool:
        """Tell whether the job was cancelled."""
        return self.plan is None

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return what the message has after pool and job."""
        return tuple(text for text in self if text)


class Decisions:
    """The latest decision about each job. The oldest ones go first. Threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._kept = most, dict[tuple[str, str], JobDecision]()

    def keep(self, pool: str, job: str, decision: JobDecision) -> None:
        """Keep the decision in place of an earlier one."""
        self._kept.pop((pool, job), None)
        self._kept[pool, job] = decision
        for old in list(self._kept)[: -self._most]:
            self._kept.pop(old, None)  # another thread may drop it too

    def of(self, pool: str, job: str) -> JobDecision | None:
        """Return the decision, None if there was none."""
        return self._kept.get((pool, job))

    def cancelled(self, pool: str, job: str) -> bool:
        """Tell whether the job was cancelled."""
        decision = self.of(pool, job)
        return bool(decision and decision.cancels)

    def ended(self, pool: str, job: str) -> None:
        """Forget the plan that was confirmed. What was cancelled stays so."""
        if not self.cancelled(pool, job):
            self._kept.pop((pool, job), None)
