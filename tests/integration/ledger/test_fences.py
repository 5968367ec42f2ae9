"""Who may write: only the newest run of a name. Each test is the shortest trace that goes wrong without its rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from berthmaster.errors import StaleToken
from domain.ports.entry import Entry, EntryState
from tests.support.ports.builders import entry
from tests.support.ports.live_pool import IN_ORDER, LivePool, single
from workers.stores.ports.ledger import EntryChanged, NotReady, PodLedger

Write = Callable[[PodLedger, Entry], object]
WRITES: dict[str, Write] = {
    "allocate": lambda run, _: run.allocate("uid-of-a", single(2), IN_ORDER),
    "record": lambda run, held: run.record(held.uid, [held]),
    "releasing": lambda run, held: run.releasing(held),
    "free": lambda run, held: run.free(held),
    "confirm": lambda run, held: run.confirm(held),
    "give_way": lambda run, held: run.give_way(held, "games/b", "uid-of-b", "7777/UDP", "arn:l", "arn:g"),
    "foreign": lambda run, held: run.foreign(held),
    "leave": lambda run, _: run.leave(),
}


@pytest.mark.row("BD-23")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_open_raises_the_fence_so_that_a_paused_holder_writes_nothing(pool: LivePool, write: Write) -> None:
    """Rule open: the newer run has only read so far, and yet the older one is refused."""
    (held,) = pool.allocate()
    paused = pool.run()
    pool.run()
    before = pool.held()
    with pytest.raises(StaleToken):
        write(paused, held)
    assert pool.held() == before


def test_an_older_run_cannot_open_after_a_newer_one(pool: LivePool) -> None:
    early, late = pool.token(), pool.token()
    pool.ledger.open("games/a", late)
    with pytest.raises(StaleToken):
        pool.ledger.open("games/a", early)
    assert pool.ledger.open("games/a", late)  # the same run again: its reply was lost


def test_an_equal_number_with_another_nonce_is_another_run(pool: LivePool) -> None:
    """Two Redis processes can give the same number; only one of the runs is the newest."""
    number = pool.token().partition("-")[0]
    first = pool.ledger.open("games/a", f"{number}-x")
    with pytest.raises(StaleToken):
        pool.ledger.open("games/a", f"{number}-y")
    assert first.leave() == ()


def test_fences_of_different_names_are_apart(pool: LivePool) -> None:
    first = pool.run("games/a")
    pool.run("games/b")
    assert first.leave() == ()


@pytest.mark.row("BD-23")
def test_a_run_sees_the_entries_of_every_uid_of_its_name(pool: LivePool) -> None:
    """Rule alluids: a pod recreated under its name releases what the one before it left."""
    pool.allocate(uid="old")
    pool.allocate(uid="new")
    assert [e.uid for e in pool.run().entries] == ["old", "new"]


@pytest.mark.row("AL-17", "BD-23")
def test_releasing_is_never_taken_back(pool: LivePool) -> None:
    """Rule oneway: a delete of the cloud may be on its way."""
    (held,) = pool.allocate()
    run = pool.run()
    run.releasing(held)
    for write in (WRITES["record"], WRITES["confirm"], WRITES["give_way"], WRITES["foreign"]):
        with pytest.raises(EntryChanged):
            write(run, replace(held, state=EntryState.BOUND))
    assert [e.state for e in pool.run().entries] == [EntryState.RELEASING]


def test_releasing_is_said_again_on_each_retry(pool: LivePool) -> None:
    (held,) = pool.allocate()
    pool.run().releasing(held)
    run = pool.run()
    run.releasing(replace(held, listener="arn:found"))
    assert [e.listener for e in pool.run().entries] == ["arn:found"]


@pytest.mark.row("BD-08")
def test_confirm_refuses_an_entry_that_has_another_owner_by_now(pool: LivePool) -> None:
    """Rules confirm and askledger: between a look at the cloud and a write, the entry must still be mine."""
    (held,) = pool.allocate()
    pool.run().confirm(held)
    pool.run().give_way(held, "games/b", "uid-of-b", "7777/UDP", "arn:l", "arn:g")
    for write in (WRITES["confirm"], WRITES["record"]):
        with pytest.raises(EntryChanged):
            write(pool.run(), held)


def test_recording_one_entry_that_changed_records_none(pool: LivePool) -> None:
    first, second = pool.allocate(wants=2)
    pool.run().releasing(second)
    with pytest.raises(EntryChanged):
        pool.run().record(first.uid, [replace(e, state=EntryState.BOUND) for e in (first, second)])
    assert [e.state for e in pool.run().entries] == [EntryState.ALLOCATED, EntryState.RELEASING]


def test_what_is_recorded_is_what_the_next_run_reads(pool: LivePool) -> None:
    first, second = pool.allocate(wants=2)
    bound = entry(want=first.want, token=first.token)
    pool.run().record(first.uid, [bound])
    assert pool.run().entries == (bound, second)
    assert pool.held() == {"games/a": (bound, second)}


def test_an_entry_given_way_to_belongs_to_its_new_owner_with_its_listener(pool: LivePool) -> None:
    (held,) = pool.allocate()
    pool.run().give_way(held, "games/b", "uid-of-b", "80/TCP", "arn:l", "arn:g")
    (theirs,) = pool.run("games/b").entries
    assert (theirs.uid, theirs.want, theirs.state, theirs.listener) == ("uid-of-b", "80/TCP", EntryState.BOUND, "arn:l")
    assert pool.run("games/a").entries == ()


# ---- old fences


def test_fences_of_runs_that_began_long_ago_are_forgotten(pool: LivePool) -> None:
    for n in range(1200):
        pool.run(f"games/p{n}")
    assert pool.prune_fences(timedelta(days=1)) == 0
    assert pool.prune_fences(timedelta(0)) == 1200
    assert pool.prune_fences(timedelta(0)) == 0


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_holder_whose_fence_was_forgotten_is_refused(pool: LivePool, write: Write) -> None:
    (held,) = pool.allocate()
    paused = pool.run()
    pool.prune_fences(timedelta(0))
    with pytest.raises(StaleToken):
        write(paused, held)


def test_a_run_older_than_the_forgotten_fences_cannot_open(pool: LivePool) -> None:
    """Else a run that was paused before it opened would pass for the newest."""
    early = pool.token()
    pool.run()
    pool.prune_fences(timedelta(0))
    with pytest.raises(NotReady):
        pool.ledger.open("games/a", early)
    assert pool.run()
