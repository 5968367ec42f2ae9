"""Decides how many pods a pod pool has, from one observation. Pure; it never removes a pod that is in use.

Questions are asked in order, and the first answer decides: untrusted signals, the minimum and reservations, confirmed
jobs, warm pods, a pool without pods, waiting jobs, utilisation, anything in use, and last idle pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from domain.pod_pools.fitting import unfit, unplaced
from domain.pod_pools.signals import PoolSignals, ScalingPolicy

NAMED: Final = 5
"""How many kinds of jobs a reason names."""


class Move(StrEnum):
    """The direction of a decision."""

    UP = "Up"
    DOWN = "Down"
    HOLD = "Hold"


@dataclass(frozen=True)
class Decision:
    """How many pods to create (`change` > 0) or to remove (< 0). `reason` is for people, with the numbers."""

    change: int
    reason: str

    @property
    def move(self) -> Move:
        """The sign of the change."""
        return Move.UP if self.change > 0 else Move.DOWN if self.change < 0 else Move.HOLD


def decide(signals: PoolSignals, policy: ScalingPolicy, now: datetime) -> Decision:
    """Decide the one change of this run."""
    signals = demand(signals, policy)
    decision = _first_answer(_Tick(signals, policy, now))
    return replace(decision, reason="; ".join(filter(None, (decision.reason, _unfit(signals.unfit or {})))))


def demand(signals: PoolSignals, policy: ScalingPolicy) -> PoolSignals:
    """Move jobs that no new pod could take to `unfit`: they neither make the pool grow nor keep its pods."""
    hopeless = unfit(signals.jobs, policy.slots)
    if not hopeless:
        return signals
    waiting, confirmed = (
        {kind: count for kind, count in (jobs or {}).items() if kind not in hopeless}
        for jobs in (signals.waiting, signals.confirmed)
    )
    return replace(signals, waiting=waiting, confirmed=confirmed, unfit=hopeless)


def _unfit(jobs: Mapping[str, int]) -> str:
    """'' for none."""
    kinds = [kind.replace(",", "+") for kind in sorted(jobs)]
    more = f" and {len(kinds) - NAMED} more kinds" if len(kinds) > NAMED else ""
    return f"{sum(jobs.values())} jobs wait that no slot takes: {', '.join(kinds[:NAMED])}{more}" if jobs else ""


def _first_answer(tick: _Tick) -> Decision:
    questions = (
        tick.sensors,
        tick.minimum,
        tick.confirmed,
        tick.warm,
        tick.cold,
        tick.waiting,
        tick.busy,
        tick.needed,
        tick.idle,
    )
    answers = (question() for question in questions)
    return next((answer for answer in answers if answer), _hold("use is between the two thresholds"))


def required_pods(signals: PoolSignals, policy: ScalingPolicy) -> int:
    """The fewest pods with slots that the pool must have: the minimum, and a slot for every reservation."""
    return max(policy.min_pods, -(-signals.reserved // max(1, len(policy.slots))))


def resting_pods(signals: PoolSignals, policy: ScalingPolicy) -> int:
    """How many pods a pool without jobs keeps."""
    return max(required_pods(signals, policy), policy.max_idle)


def size_after_claims(signals: PoolSignals, policy: ScalingPolicy, size: int, present: int) -> int:
    """Lower `size` by the pods that claims have taken, unless jobs or the minimum need new ones.

    `present`: pods with slots, booting ones included. `size` does not count the pods for waiting claims.
    """
    return size if signals.has_work else min(size, max(resting_pods(signals, policy), present - signals.claims))


def utilisation(signals: PoolSignals, policy: ScalingPolicy) -> float:
    """Used and reserved slots as a share of all slots, those of booting pods included; 0 without pods."""
    slots = (signals.pods.open + signals.booting) * len(policy.slots)
    return (signals.used + signals.reserved) / slots if slots else 0.0


@dataclass(frozen=True)
class _Tick:
    """The questions. A method that returns None has no answer."""

    signals: PoolSignals
    policy: ScalingPolicy
    now: datetime

    def sensors(self) -> Decision | None:
        return _hold(f"not trusted: {self.signals.problem}") if self.signals.problem else None

    def minimum(self) -> Decision | None:
        required, giving = required_pods(self.signals, self.policy), self.signals.pods.giving
        if giving >= required:
            return None
        floor = f"minReplicas {self.policy.min_pods} and {self.signals.reserved} reservations"
        return self._up(required - giving, f"{giving} pods, at least {required} for {floor}")

    def confirmed(self) -> Decision | None:
        """Ignores the cooldown: a person has waited and decided."""
        short = self._short(self.signals.confirmed or {})
        return self._up(self.policy.step, f"{short} confirmed jobs without a fitting slot") if short else None

    def warm(self) -> Decision | None:
        """Ignores the cooldown: warm pods are there so that claims need not wait."""
        there, most = self.signals.pods.free + self.signals.booting, self.policy.max_idle
        return self._up(most - there, f"{there} warm pods, maxIdle {most}") if there < most else None

    def cold(self) -> Decision | None:
        waiting = sum((self.signals.waiting or {}).values())
        giving = self.signals.pods.open + self.signals.booting
        return self._up(1, f"no pods and {waiting} waiting") if waiting and not giving else None

    def waiting(self) -> Decision | None:
        count = self._short(self.signals.jobs)
        return self._up_when_cool(f"{count} waiting without a fitting slot") if count else None

    def busy(self) -> Decision | None:
        share, limit = utilisation(self.signals, self.policy), self.policy.up_above
        return self._up_when_cool(f"use {share:.0%} above {limit:.0%}") if share > limit else None

    def needed(self) -> Decision | None:
        """Keeps every pod while anything is in use, waits or boots."""
        uses = {
            "slots in use": self.signals.used,
            "slots reserved": self.signals.reserved,
            "jobs waiting": sum(self.signals.jobs.values()),
            "claims waiting": self.signals.claims,
            "pods booting": self.signals.pods.booting,
        }
        words = ", ".join(f"{count} {name}" for name, count in uses.items() if count)
        return _hold(words) if words else None

    def idle(self) -> Decision | None:
        pods = self.signals.pods.open
        surplus = pods - resting_pods(self.signals, self.policy)
        if surplus <= 0 or utilisation(self.signals, self.policy) >= self.policy.down_below:
            return _hold(f"{pods} idle pods, none too many")
        last = max((time for time in (self.signals.last_up, self.signals.last_down) if time), default=None)
        words = f"{pods} idle pods, {surplus} too many"
        return self._cooling(last, self.policy.down_cooldown, words) or Decision(-min(self.policy.step, surplus), words)

    def _up_when_cool(self, words: str) -> Decision:
        return self._cooling(self.signals.last_up, self.policy.up_cooldown, words) or self._up(self.policy.step, words)

    def _up(self, pods: int, reason: str) -> Decision:
        """The maximum counts pods that drain or are claimed, because they still exist."""
        there, most = self.signals.pods.all, self.policy.max_pods
        room = max(0, most - there)
        return Decision(min(pods, room), reason if room >= pods else f"{reason}; at most {most} pods, {there} exist")

    def _cooling(self, last: datetime | None, cooldown: timedelta, words: str) -> Decision | None:
        left = last + cooldown - self.now if last else timedelta(0)
        return _hold(f"{words}; {left.total_seconds():.0f} s of cooldown left") if left > timedelta(0) else None

    def _short(self, jobs: Mapping[str, int]) -> int:
        """Count the jobs that fit neither idle slots nor those of booting pods."""
        slots = Counter(self.signals.idle or {})
        for accepts in self.policy.slots:
            slots[accepts] += self.signals.booting
        return sum(unplaced(jobs, slots).values())


def _hold(reason: str) -> Decision:
    return Decision(0, reason)
