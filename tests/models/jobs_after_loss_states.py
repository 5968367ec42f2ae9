"""The states of the model of jobs after a loss of Redis: runners, pods, and what stays on its way."""

from __future__ import annotations

from typing import NamedTuple

from tests.models.slot_table import AttemptId, Job, Ledger, put

TWO_PROCESSES, TWO_IN_SLOT, TWICE, IN_USE, NOT_CONFIRMED = (
    "a job runs twice at the same time",
    "two jobs run in one slot",
    "a job takes effect twice although its pod knew the outcome",
    "a pod with a running or reserved job is deleted",
    "a plan is applied that nobody confirmed",
)
PODS = JOBS = (0, 1)
PLAN = (0, 0)  # job, phase


class Flags(NamedTuple):
    faults: int = 1
    removals: int = 1
    copies: int = 1
    placed: bool = False  # at first job 1 is placed on pod 1, and a copy of that is kept
    report: bool = True  # a pod opens by its runner's report, not because Kubernetes lists it
    fresh: bool = True  # a report for another incarnation is dropped
    gate: bool = True  # place, start, confirm and fence wait until every pod has reported or is gone
    write: bool = True  # who opens a pod writes it first, so that an old deletion conflicts
    held: bool = True  # runners report reservations as long as they stand
    outs: bool = True  # runners keep outcomes that are acknowledged
    token: bool = True  # attempts are unique across incarnations
    resubmit: bool = True  # clients submit again until they have seen the end
    wish: bool = True  # an unfinished record of before counts only once a runner reports it or its client submits it


class Item(NamedTuple):
    """An attempt at its runner."""

    job: int
    attempt: AttemptId
    phase: int = 0
    acknowledged: bool = False


class Report(NamedTuple):
    runs: Item | None
    reserved: Item | None
    ended: tuple[Item, ...]  # with the plan whose slot is reserved
    incarnation: int
    late: bool = False  # a start was granted since


class Pod(NamedTuple):
    life: str = "live"  # live | terminating | gone
    runs: Item | None = None
    reserved: Item | None = None
    ended: frozenset[Item] = frozenset()
    report: Report | None = None


class Message(NamedTuple):
    pod: int
    job: int
    attempt: AttemptId
    phase: int


class S(NamedTuple):
    ledger: Ledger
    faults: int
    removals: int
    pods: tuple[Pod, ...]
    views: tuple[str, ...] = ("open", "open")  # unknown | new | open | fenced
    expected: frozenset[int] | None = frozenset()  # pods that must report; None: nobody has listed them
    copy: tuple[Ledger, tuple[str, ...]] | None = None
    messages: frozenset[Message] = frozenset()
    confirms: frozenset[AttemptId] = frozenset()  # of plans of job 0, on their way
    satisfied: frozenset[int] = frozenset()  # clients that have seen the end
    effects: tuple[int, ...] = (0, 0)
    excused: frozenset[int] = frozenset()  # jobs whose outcome died with a pod
    removal: tuple[int, bool] | None = None  # a fenced pod, and whether the version that was read is current
    bad: str = ""


Edge = tuple[str, str, S]
LOST: tuple[Ledger, tuple[str, ...]] = (Ledger((Job(), Job()), (None, None)), ("unknown", "unknown"))


def work(s: S, k: int, **values: object) -> S:
    return s._replace(pods=put(s.pods, k, s.pods[k]._replace(**values)))  # type: ignore[arg-type]  # fields of a pod
