"""Decides how many pods a pod pool has, from one observation. Pure; it never removes a pod that is in use.

Questions are asked in order, and the first answer decides: the minimum and reservations, warm pods, a pool without
pods, waiting jobs, use, what keeps every pod, and last idle pods.

Only open and booting pods are capacity. Pods that are not ready any more count for the maximum only, and go first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from domain.pod_pools.fitting import unfit, unplaced
from domain.pod_pools.signals import PoolSignals, ScalingPolicy
from domain.quantity import quantity

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
    return replace(decision, reason="; ".join([decision.reason, *_unfit(signals.unfit), *policy.schedules]))


def decide_first(signals: PoolSignals, policy: ScalingPolicy, now: datetime) -> Decision:
    """Decide only what waits for nothing: the minimum, and warm pods. Repeating it changes nothing."""
    tick = _Tick(signals, policy, now)
    return tick.minimum() or tick.warm() or _hold("nothing is missing")


def demand(signals: PoolSignals, policy: ScalingPolicy) -> PoolSignals:
    """Move jobs that no new pod could take to `unfit`: they neither make the pool grow nor keep its pods."""
    hopeless = unfit(signals.waiting, policy.slots)
    if not hopeless:
        return signals
    waiting = {kind: count for kind, count in signals.waiting.items() if kind not in hopeless}
    return replace(signals, waiting=waiting, unfit=hopeless)


def _unfit(jobs: Mapping[str, int]) -> Iterator[str]:
    if not jobs:
        return
    kinds = [kind.replace(",", "+") for kind in sorted(jobs)]
    more = f" and {len(kinds) - NAMED} more kinds" if len(kinds) > NAMED else ""
    wait = quantity(sum(jobs.values()), "job waits", "jobs wait")
    yield f"{wait} that no slot takes: {', '.join(kinds[:NAMED])}{more}"


def _first_answer(tick: _Tick) -> Decision:
    questions = (
        tick.minimum,
        tick.warm,
        tick.cold,
        tick.waiting,
        tick.busy,
        tick.needed,
    )
    answers = (question() for question in questions)
    return next((answer for answer in answers if answer), None) or tick.surplus()


def required_pods(signals: PoolSignals, policy: ScalingPolicy) -> int:
    """The fewest pods with slots that the pool must have: the minimum, and a slot for every reservation."""
    return max(policy.min_pods, -(-(signals.reserved + signals.owed) // max(1, len(policy.slots))))


def resting_pods(signals: PoolSignals, policy: ScalingPolicy) -> int:
    """How many pods a pool without jobs keeps."""
    return max(required_pods(signals, policy), policy.max_idle)


def size_after_claims(signals: PoolSignals, policy: ScalingPolicy, size: int, present: int) -> int:
    """Lower `size` by the pods that claims take, unless jobs or the minimum need new ones.

    `present`: pods with slots, booting ones included. `size` does not count the pods for waiting claims. Claims take
    no outdated pod, so that these lower the size for nobody.
    """
    taken = min(signals.claims, present - signals.pods.outdated)
    return size if signals.has_work else min(size, max(resting_pods(signals, policy), present - taken))


def utilisation(signals: PoolSignals, policy: ScalingPolicy) -> float:
    """Used and reserved slots as a share of the slots of open pods; 0 without such slots."""
    slots = signals.pods.open * len(policy.slots)
    return (signals.used + signals.reserved) / slots if slots else 0.0


def pressure(signals: PoolSignals, policy: ScalingPolicy, pods: int) -> float:
    """Used slots as a share of those of `pods` pods that are not reserved; 0 if none is used.

    A reservation takes its slot away and is no demand beyond it.
    """
    left = pods * len(policy.slots) - signals.reserved
    return signals.used / max(left, 1) if policy.slots and pods else 0.0


@dataclass(frozen=True)
class _Tick:
    """The questions. A method that returns None has no answer."""

    signals: PoolSignals
    policy: ScalingPolicy
    now: datetime

    def minimum(self) -> Decision | None:
        required, giving = required_pods(self.signals, self.policy), self.signals.pods.giving
        if giving >= required:
            return None
        reservations = self.signals.reserved + self.signals.owed
        floor = f"minReplicas {self.policy.min_pods} and {quantity(reservations, 'reservation')}"
        return self._up(required - giving, f"{quantity(giving, 'pod')}, at least {required} for {floor}")

    def warm(self) -> Decision | None:
        """Ignores the cooldown: warm pods are there so that claims need not wait."""
        there, most = self.signals.pods.free + self.signals.booting, self.policy.max_idle
        words = f"{quantity(there, 'pod is', 'pods are')} warm or booting, maxIdle is {most}"
        return self._up(most - there, words) if there < most else None

    def cold(self) -> Decision | None:
        waiting = sum(self.signals.waiting.values())
        giving = self.signals.pods.open + self.signals.booting
        return self._up(1, f"no pods and {waiting} waiting") if waiting and not giving else None

    def waiting(self) -> Decision | None:
        count = self._short()
        return self._up_when_cool(f"{count} waiting without a fitting slot") if count else None

    def busy(self) -> Decision | None:
        """The slots of booting pods count, so that the same use adds no pod twice."""
        pods, limit = self.signals.pods.open + self.signals.booting, self.policy.up_above
        share = pressure(self.signals, self.policy, pods)
        slots = pods * len(self.policy.slots)
        words = f"use {share:.0%} above {limit:.0%}: {self.signals.used} of {slots} slots run jobs"
        if self.signals.reserved:
            words = f"{words}, {quantity(self.signals.reserved, 'is reserved', 'are reserved')}"
        return self._up_when_cool(words) if share > limit else None

    def needed(self) -> Decision | None:
        """Keeps every pod while work or claims wait, or pods boot: what is idle now may be used soon."""
        uses = {
            **(self._in_use() if self.policy.hold_while_busy else {}),
            "job waiting": sum(self.signals.waiting.values()),
            "claim waiting": self.signals.claims,
            "pod booting": self.signals.pods.booting,
        }
        return _hold(_counted(uses)) if any(uses.values()) else None

    def surplus(self) -> Decision:
        """Remove pods that nothing runs on, stalled ones first, one step at a time, once use is low.

        A freeze keeps idle pods. Stalled ones are no use to anybody.
        """
        pods, in_use = self.signals.pods, _counted(self._in_use())
        idle = max(0, min(pods.free - self.policy.max_idle, pods.open - self._floor()))
        kept = idle if self.policy.frozen else 0
        surplus = pods.stalled + idle - kept - pods.excess
        there = quantity(pods.free, "idle pod") + (f" and {pods.away} not ready" if pods.away else "")
        if surplus <= 0:
            frozen = f"{there}, {kept} too many, which the freeze keeps" if kept else None
            return _hold(frozen or in_use or f"{there}, none too many")
        share, limit = utilisation(self.signals, self.policy), self.policy.down_below
        words = f"{there}, {surplus} too many"
        if share >= limit:
            return _hold(f"use {share:.0%} not below {limit:.0%} ({in_use or 'no slots in use'}): {words}")
        if in_use:
            words = f"use {share:.1%} below {limit:.0%} ({in_use}): {words}"
        last = max((time for time in (self.signals.last_up, self.signals.last_down) if time), default=None)
        return self._cooling(last, self.policy.down_cooldown, words) or Decision(-min(self.policy.step, surplus), words)

    def _in_use(self) -> dict[str, int]:
        return {"slot in use": self.signals.used, "slot reserved": self.signals.reserved}

    def _floor(self) -> int:
        """The fewest open pods with which the pool must not grow again at once."""
        floor = required_pods(self.signals, self.policy)
        busy = (pods for pods in range(floor, self.signals.pods.open) if self._is_enough(pods))
        return next(busy, max(floor, self.signals.pods.open))

    def _is_enough(self, pods: int) -> bool:
        slots = pods * len(self.policy.slots)
        in_use = self.signals.used + self.signals.reserved
        return in_use <= slots and pressure(self.signals, self.policy, pods) <= self.policy.up_above

    def _up_when_cool(self, words: str) -> Decision:
        return self._cooling(self.signals.last_up, self.policy.up_cooldown, words) or self._up(self.policy.step, words)

    def _up(self, pods: int, reason: str) -> Decision:
        """The maximum counts pods that drain or are claimed, because they still exist."""
        there, most = self.signals.pods.all, self.policy.max_pods
        room = max(0, most - there)
        return Decision(min(pods, room), reason if room >= pods else f"{reason}; at most {most} pods, {there} exist")

    def _cooling(self, last: datetime | None, cooldown: timedelta, words: str) -> Decision | None:
        """Name the end of the cooldown, not what is left of it: who writes the reason writes only what has changed."""
        ends = last + cooldown if last else self.now
        return _hold(f"{words}; cooldown until {ends:%H:%M:%S} UTC") if ends > self.now else None

    def _short(self) -> int:
        """Count the waiting jobs that fit neither idle slots nor those of booting pods."""
        slots = Counter(self.signals.idle)
        for accepts in self.policy.slots:
            slots[accepts] += self.signals.booting
        return sum(unplaced(self.signals.waiting, slots).values())


def _counted(things: Mapping[str, int]) -> str:
    """Thing -> how many: the first word of a thing has the plural."""
    counts = ((count, name, name.replace(" ", "s ", 1)) for name, count in things.items() if count)
    return ", ".join(quantity(*words) for words in counts)


def _hold(reason: str) -> Decision:
    return Decision(0, reason)
