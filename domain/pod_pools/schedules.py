"""Schedules of a pod pool: for a while it keeps more pods, or is frozen. Pure.

A schedule that cannot be read freezes the pool, because nobody knows whether the pool needs its idle pods now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from berthmaster.forms import A_SHORT_NAME, form
from berthmaster.spec import Length, Spec, length
from domain.pod_pools.cron import CronError, cron_times

FIELD: Final = "[0-9A-Za-z*,/#-]+"
SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(hours=744)
"""Bounds of a schedule's duration: times of cron are whole minutes; 744 hours are 31 days."""
Replicas = Annotated[int, Field(ge=1, le=5000)]


class PoolSchedule(Spec):
    """From each time of `cron` on, for `duration`, the pool has at least these pods, or is frozen."""

    name: Annotated[
        str,
        Field(
            pattern=form("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", A_SHORT_NAME),
            description="what reasons and conditions call it",
        ),
    ]
    cron: Annotated[
        str,
        Field(
            max_length=100,
            pattern=form(f"^{FIELD}( {FIELD}){{4}}$", "the five fields of a cron expression, such as `0 8 * * 1-5`"),
            description="when it begins: minute, hour, day of the month, month, day of the week, as in `0 8 * * 1-5`",
        ),
    ]
    time_zone: Annotated[
        str,
        Field(
            max_length=64,
            pattern=form(
                "^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$", "the IANA name of a time zone, such as `Europe/Berlin`"
            ),
            description="time zone of `cron`, by its IANA name, as in `Europe/Berlin`",
        ),
    ] = "UTC"
    duration: Annotated[
        Length, Field(max_length=10, description="how long it is in effect, from 1m to 744h of elapsed time")
    ]
    min_replicas: Annotated[
        Replicas | None, Field(description="raises the pool's minReplicas to this, as far as maxReplicas allows")
    ] = None
    max_idle: Annotated[
        Replicas | None, Field(description="raises the pool's maxIdle to this, as far as maxReplicas allows")
    ] = None
    freeze: Annotated[
        bool, Field(description="keeps idle pods, also those with an older template: none is removed or replaced")
    ] = False

    @property
    def effects(self) -> str:
        """What it does, in words: `minReplicas 5, freeze`."""
        numbers = (("minReplicas", self.min_replicas), ("maxIdle", self.max_idle))
        counts = [f"{name} {count}" for name, count in numbers if count is not None]
        return ", ".join([*counts, *(["freeze"] if self.freeze else [])])

    def state(self, now: datetime) -> ScheduleState:
        """Raises ScheduleError."""
        zone = _zone(self.time_zone)
        try:
            times = cron_times(self.cron, zone, now)
        except CronError as error:
            raise ScheduleError("cron", f"{self.cron} is no cron expression: {error}") from error
        if not times.last and not times.next:
            raise ScheduleError("cron", f"{self.cron} never comes")
        end = times.last + length(self.duration) if times.last else None
        return ScheduleState(self, zone, end if end and end > now else None, times.next)


class ScheduleError(ValueError):
    """The schedule cannot be read. `field` is to blame."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # OSError: the name of a folder, such as Europe
        raise ScheduleError("timeZone", f"no time zone is called {name}") from error


@dataclass(frozen=True)
class ScheduleState:
    """`end`: until when the schedule is in effect, None while it is not. `next`: when it begins next."""

    schedule: PoolSchedule
    zone: ZoneInfo
    end: datetime | None
    next: datetime | None

    @property
    def in_effect(self) -> str:
        """For a reason: `schedule office until 2026-11-30 18:00 Europe/Berlin: minReplicas 5`."""
        end = self._shown(self.end) if self.end else "now"
        return f"schedule {self.schedule.name} until {end}: {self.schedule.effects}"

    @property
    def upcoming(self) -> str:
        """For people: `schedule office from 2026-12-01 08:00 Europe/Berlin: minReplicas 5`."""
        start = self._shown(self.next) if self.next else "never"
        return f"schedule {self.schedule.name} from {start}: {self.schedule.effects}"

    def _shown(self, time: datetime) -> str:
        return f"{time.astimezone(self.zone):%Y-%m-%d %H:%M} {self.zone.key}"


@dataclass(frozen=True)
class ScheduleView:
    """The schedules of a pool at one time. `problems`: which of them cannot be read, and why."""

    states: tuple[ScheduleState, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def in_effect(self) -> tuple[ScheduleState, ...]:
        """The schedules that are in effect now."""
        return tuple(state for state in self.states if state.end)

    @property
    def upcoming(self) -> tuple[ScheduleState, ...]:
        """The schedules that are not in effect, the next one first."""
        return tuple(sorted((state for state in self.states if state.next and not state.end), key=_start))

    @property
    def frozen(self) -> bool:
        """Whether idle pods stay, whatever the pool needs."""
        return bool(self.problems) or any(state.schedule.freeze for state in self.in_effect)

    @property
    def min_replicas(self) -> int:
        """The highest minReplicas of the schedules in effect, 0 for none."""
        return max((state.schedule.min_replicas or 0 for state in self.in_effect), default=0)

    @property
    def max_idle(self) -> int:
        """The highest maxIdle of the schedules in effect, 0 for none."""
        return max((state.schedule.max_idle or 0 for state in self.in_effect), default=0)

    @property
    def change(self) -> datetime | None:
        """The next time at which a schedule begins or ends."""
        times = (time for state in self.states for time in (state.end, state.next))
        return min((time for time in times if time), default=None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the pool has other numbers than its spec says: for the reason of each decision."""
        frozen = ("frozen until every schedule can be read",) if self.problems else ()
        return (*frozen, *(state.in_effect for state in self.in_effect))

    @property
    def lines(self) -> tuple[str, ...]:
        """Everything about the schedules, for people."""
        return (*self.problems, *self.reasons, *(state.upcoming for state in self.upcoming))


def schedules_at(schedules: Iterable[PoolSchedule], now: datetime) -> ScheduleView:
    """Find out which schedules are in effect. Those that cannot be read are not, and freeze the pool."""
    states, problems = list[ScheduleState](), list[str]()
    for position, schedule in enumerate(schedules):
        try:
            states.append(schedule.state(now))
        except ScheduleError as error:
            problems.append(f"spec.schedules[{position}].{error.field}: {error}")
    return ScheduleView(tuple(states), tuple(problems))


def _start(state: ScheduleState) -> datetime:
    assert state.next
    return state.next
