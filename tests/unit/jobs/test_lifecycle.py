"""The table of transitions of a job, against what is written out here for every state and every event."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import pytest

from berthmaster.jobs.job import JobState, Limit
from berthmaster.jobs.lifecycle import COUNTED, INDEXES, LIFECYCLE, STOPPED, Event, transition
from berthmaster.jobs.transition import Fact, Index, Transition

STATES = ("unknown", "waiting", "placed", "running", "reserved", "confirmed", "cancelling", "done")
GRID = """
submit          waiting  -        -                -                 -              -              -          -
delay_over      -        =        -                -                 -              -              -          -
key_free        -        =        -                -                 -              placed/waiting -          -
place           -        placed   -                -                 -              placed         -          -
unsent          -        -        -/placed/waiting -                 -              -              -          -
resend          -        -        =/done/waiting   -                 -              -              -          -
start           -        -        -/running        -                 -              -              -          -
end             -        -        -                -/done/reserved   -              -              -/done     -
confirm         -        -        =                =                 confirmed/waiting =           =          -/=
cancel          done     done     done             cancelling        done           done           =          =
expire          -        -        -                -                 done           -              -          -
overdue         -        -/done   -/done           -/cancelling      -              -              -          -
lose            -        -        done/waiting     done/waiting      waiting        waiting        done       -
pod_ends        -        -        waiting          -                -              -              -          -
unlisted        -        -        -                done/waiting      waiting        waiting        done       -
report_running  running  running  -/running        -/running         -/running      -/running      -/running  -
report_reserved reserved reserved -/reserved       -/reserved        -/reserved     -/reserved     -/reserved -
report_end      =/done   =/done   -/=/done         -/=/done/reserved -/=/done       -/=/done       -/=/done   -
ledger_lost     unknown  unknown  unknown          unknown           unknown        unknown        unknown    -
"""
"""Event, then what each state may become: `-` the event is refused, `=` nothing changes in the record."""

SAME, LATER, FIRST, MORE = Fact.SAME_ATTEMPT, Fact.LATER_ATTEMPT, Fact.FIRST_PHASE, Fact.MORE_PHASES
SLOT, AGAIN, GOOD, DELAYED = Fact.HAS_SLOT, Fact.REPEATABLE, Fact.SUCCEEDED, Fact.DELAYED
LIMITED, OVER = Fact.LIMITED, Fact.OVER_TIME
ENDS = "slot=free key=hand_on index=ended"

CASES = [
    ("unknown", "submit", (), "waiting key=keep index=line begins=queue"),
    ("unknown", "submit", (DELAYED,), "waiting key=keep index=later begins=queue"),
    ("waiting", "delay_over", (), "= index=line"),
    ("waiting", "key_free", (), "= index=line"),
    ("waiting", "place", (), "placed slot=running key=take attempt=new index=sent"),
    ("confirmed", "place", (), "placed slot=running key=take attempt=new index=sent"),
    ("confirmed", "key_free", (SLOT,), "placed slot=running key=take attempt=new index=sent"),
    ("confirmed", "key_free", (), "waiting slot=free key=hand_on phase=first plan=clear index=line"),
    ("placed", "unsent", (SAME, FIRST), "waiting slot=free key=hand_on phase=first plan=clear index=later"),
    ("placed", "unsent", (SAME,), "placed index=sent"),
    ("placed", "unsent", (FIRST,), "-"),
    ("placed", "resend", (SLOT, FIRST), "= index=sent"),
    ("placed", "resend", (SLOT,), "= index=sent"),
    ("placed", "resend", (FIRST,), "waiting slot=free key=hand_on phase=first plan=clear index=line"),
    ("placed", "resend", (), "done lost slot=free key=hand_on index=ended announce"),
    ("placed", "start", (SAME, SLOT), "running begins=run"),
    ("placed", "start", (SAME,), "-"),
    ("placed", "start", (SLOT,), "-"),
    ("running", "end", (SAME, GOOD, MORE, SLOT), "reserved slot=reserved key=hand_on plan=set index=due announce"),
    ("running", "end", (SAME, GOOD, MORE), "reserved key=hand_on plan=set index=due announce"),
    ("running", "end", (SAME, GOOD, SLOT), "done as_reported slot=free key=hand_on index=ended announce"),
    ("running", "end", (SAME, MORE, SLOT), "done as_reported slot=free key=hand_on index=ended announce"),
    ("running", "end", (LATER, GOOD, MORE, SLOT), "-"),
    ("cancelling", "end", (SAME, GOOD, MORE, SLOT), "done cancelled slot=free key=hand_on index=ended announce"),
    ("cancelling", "end", (SAME, OVER, GOOD), f"done timed_out {ENDS} limit=run announce"),
    ("cancelling", "end", (GOOD,), "-"),
    ("reserved", "confirm", (SLOT,), "confirmed phase=next"),
    ("reserved", "confirm", (), "waiting slot=free key=hand_on phase=first plan=clear index=line"),
    ("done", "confirm", (GOOD,), "="),
    ("done", "confirm", (), "-"),
    ("running", "cancel", (), "cancelling index=stopping"),
    ("cancelling", "cancel", (OVER,), "="),
    ("waiting", "cancel", (), "done cancelled slot=free key=hand_on index=ended announce"),
    ("placed", "cancel", (), "done cancelled slot=free key=hand_on index=ended announce"),
    ("reserved", "cancel", (), "done cancelled slot=free key=hand_on index=ended announce"),
    ("confirmed", "cancel", (), "done cancelled slot=free key=hand_on index=ended announce"),
    ("unknown", "cancel", (), "done cancelled slot=free key=hand_on index=ended announce"),
    ("reserved", "expire", (), f"done expired {ENDS} limit=reservation announce"),
    ("waiting", "overdue", (LIMITED,), f"done timed_out {ENDS} limit=queue announce"),
    ("placed", "overdue", (LIMITED,), f"done timed_out {ENDS} limit=queue announce"),
    ("running", "overdue", (LIMITED,), "cancelling index=stopping limit=run"),
    ("running", "overdue", (), "-"),
    *(
        (state, event, facts, effect)
        for event in ("lose", "unlisted")
        for state, facts, effect in (
            ("running", (FIRST, AGAIN), "waiting slot=free key=hand_on phase=first plan=clear index=line"),
            ("running", (FIRST,), "done lost slot=free key=hand_on index=ended announce"),
            ("running", (AGAIN,), "done lost slot=free key=hand_on index=ended announce"),
            ("reserved", (FIRST,), "waiting slot=free key=hand_on phase=first plan=clear index=line"),
            ("confirmed", (), "waiting slot=free key=hand_on phase=first plan=clear index=line"),
            ("cancelling", (FIRST, AGAIN), "done cancelled slot=free key=hand_on index=ended announce"),
            ("cancelling", (FIRST, AGAIN, OVER), f"done timed_out {ENDS} limit=run announce"),
        )
    ),
    ("placed", "lose", (FIRST,), "waiting slot=free key=hand_on phase=first plan=clear index=line"),
    ("placed", "lose", (AGAIN,), "done lost slot=free key=hand_on index=ended announce"),
    ("placed", "unlisted", (FIRST, AGAIN), "-"),
    ("placed", "pod_ends", (), "waiting slot=free key=hand_on phase=first plan=clear index=line"),
    ("running", "pod_ends", (FIRST, AGAIN), "-"),
    *(
        (state, "report_running", facts, "running slot=running key=take phase=reported attempt=reported begins=run")
        for state, facts in (("unknown", ()), ("waiting", ()), ("placed", (SAME,)), ("running", (LATER,)))
    ),
    *(
        (state, "report_reserved", facts, "reserved slot=reserved phase=reported attempt=reported plan=set index=due")
        for state, facts in (("unknown", ()), ("waiting", ()), ("placed", (SAME,)), ("cancelling", (LATER,)))
    ),
    ("running", "report_running", (SAME,), "-"),
    ("running", "report_reserved", (SAME,), "-"),
    ("reserved", "report_running", (SAME,), "-"),
    ("cancelling", "report_running", (SAME,), "-"),
    ("placed", "report_running", (), "-"),
    *(
        (
            state,
            "report_end",
            facts,
            "done as_reported slot=free key=hand_on phase=reported attempt=reported index=ended announce",
        )
        for state, facts in (
            ("unknown", ()),
            ("unknown", (GOOD,)),
            ("waiting", (MORE,)),
            ("placed", (SAME,)),
            ("reserved", (SAME,)),
            ("confirmed", (LATER, GOOD)),
            ("running", (LATER,)),
            ("cancelling", (LATER,)),
        )
    ),
    ("unknown", "report_end", (GOOD, MORE), "="),
    ("reserved", "report_end", (SAME, GOOD, MORE), "="),
    ("running", "report_end", (LATER, GOOD, MORE, SLOT), "="),
    (
        "running",
        "report_end",
        (SAME, GOOD, MORE, SLOT),
        "reserved slot=reserved key=hand_on plan=set index=due announce",
    ),
    ("running", "report_end", (SAME,), "done as_reported slot=free key=hand_on index=ended announce"),
    ("cancelling", "report_end", (SAME, GOOD, OVER), f"done timed_out {ENDS} limit=run announce"),
    ("cancelling", "report_end", (SAME, GOOD), "done cancelled slot=free key=hand_on index=ended announce"),
    ("running", "report_end", (GOOD,), "-"),
    ("running", "ledger_lost", (), "unknown slot=free"),
]
"""State, event, all facts that hold, and everything that the event does."""


def expected() -> dict[tuple[str, str], set[str]]:
    lines = [line.split() for line in GRID.strip().splitlines()]
    return {
        (state, event): set(cell.split("/"))
        for event, *cells in lines
        for state, cell in zip(STATES, cells, strict=True)
    }


def all_facts() -> Iterator[tuple[Fact, ...]]:
    return chain.from_iterable(combinations(Fact, n) for n in range(len(Fact) + 1))


def words(row: Transition | None) -> str:
    if row is None:
        return "-"
    effects = {"slot": row.slot, "key": row.key, "phase": row.phase, "attempt": row.attempt, "plan": row.plan}
    told = [row.state.value if row.state else "=", *([row.outcome] if row.outcome else [])]
    told += [f"{name}={effect.value}" for name, effect in effects.items() if effect != "keep"]
    told += [f"index={row.index.value}"] if row.index is not Index.NONE else []
    limits = {"begins": row.begins, "limit": row.limit}
    told += [f"{name}={limit.value}" for name, limit in limits.items() if limit]
    return " ".join([*told, *(["announce"] if row.announce else [])])


def state_of(row: Transition | None) -> str:
    return words(row).split()[0]


def test_every_state_and_event_is_written_out() -> None:
    assert set(STATES) == set(JobState)
    assert expected().keys() == {(state.value, event.value) for state in JobState for event in Event}
    assert LIFECYCLE.keys() == set(Event)


@pytest.mark.parametrize("state, event", expected())
def test_whatever_the_facts_an_event_leads_to_no_other_state(state: str, event: str) -> None:
    reached = {state_of(transition(JobState(state), Event(event), facts)) for facts in all_facts()}
    assert reached == expected()[state, event]


@pytest.mark.parametrize("state, event, facts, effect", CASES)
def test_what_an_event_does(state: str, event: str, facts: tuple[Fact, ...], effect: str) -> None:
    assert words(transition(JobState(state), Event(event), facts)) == effect.replace(" key=keep", "")


def test_every_arrow_of_the_grid_has_its_effects_written_out() -> None:
    """One of its states, where several do the same."""
    arrows = {(event, to) for (_, event), reached in expected().items() for to in reached - {"-", "="}}
    assert {(event, effect.split()[0]) for _, event, _, effect in CASES} >= arrows


def test_a_job_that_has_ended_stays_ended() -> None:
    changes = {transition(JobState.DONE, event, facts) for event in Event for facts in all_facts()}
    assert {row.state for row in changes if row} == {None}


@pytest.mark.parametrize("state", JobState)
def test_a_job_enters_no_index_that_its_state_does_not_leave(state: JobState) -> None:
    rows = [(source, row) for rows in LIFECYCLE.values() for source, many in rows.items() for row in many]
    entered = {row.index for source, row in rows if (row.state or source) is state} - {Index.NONE}
    assert entered <= set(INDEXES[state])


HOLDING = (JobState.PLACED, JobState.RUNNING, JobState.RESERVED, JobState.CONFIRMED, JobState.CANCELLING)


def test_a_job_frees_its_slot_exactly_when_it_comes_into_a_state_that_has_none() -> None:
    """Rule hold: what runs, or waits for a person, keeps its slot."""
    for source, row in ((source, row) for rows in LIFECYCLE.values() for source, many in rows.items() for row in many):
        if row.state and source in HOLDING:
            assert (row.slot == "free") == (row.state not in HOLDING)


def test_a_job_that_ends_hands_its_key_on_and_is_announced() -> None:
    ends = [row for rows in LIFECYCLE.values() for many in rows.values() for row in many if row.state is JobState.DONE]
    assert {(row.key.value, row.slot.value, row.announce, bool(row.outcome)) for row in ends} == {
        ("hand_on", "free", True, True)
    }


def rows_by_state() -> Iterator[tuple[JobState, Transition]]:
    return ((source, row) for rows in LIFECYCLE.values() for source, many in rows.items() for row in many)


@pytest.mark.row("SD-34")
def test_a_limit_begins_only_in_a_state_in_which_it_counts() -> None:
    assert {(row.state, row.begins) for _, row in rows_by_state() if row.begins} == {
        (JobState.WAITING, Limit.QUEUE),
        (JobState.RUNNING, Limit.RUN),
    }
    assert all(COUNTED[row.state] is row.begins for _, row in rows_by_state() if row.begins and row.state)


@pytest.mark.row("SD-34")
def test_every_way_into_running_begins_the_time_of_the_attempt() -> None:
    """Rule runlimit: also that of a report, after which Redis knows no start."""
    assert {row.begins for _, row in rows_by_state() if row.state is JobState.RUNNING} == {Limit.RUN}


@pytest.mark.row("SD-34")
def test_a_job_says_a_limit_exactly_if_its_time_was_over() -> None:
    ends = {(row.outcome, row.limit) for _, row in rows_by_state() if row.state is JobState.DONE}
    assert {(outcome, limit) for outcome, limit in ends if limit} == {
        ("timed_out", Limit.QUEUE),
        ("timed_out", Limit.RUN),
        ("expired", Limit.RESERVATION),
    }
    assert {outcome for outcome, limit in ends if not limit} == {"as_reported", "cancelled", "lost"}


def test_what_a_runner_must_stop() -> None:
    assert set(STOPPED) == {JobState.CANCELLING, JobState.DONE}
