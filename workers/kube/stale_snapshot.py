"""Reconcile an object that has changed since the publisher received it: the event is late, or never comes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from berthmaster.errors import TransientError
from domain.outcome import Outcome
from events.kube.api import Conflict, NotFound
from events.workqueue import Snapshot

CHANGED: Final = timedelta(milliseconds=250)
"""Until the next run, if reading the object does not help: the watch brings a newer version about as fast."""

Read = Callable[[], Snapshot | None]
Act = Callable[[Snapshot | None], Outcome]


def as_it_is(name: str, published: Snapshot | None, read: Read, act: Act) -> Outcome:
    """Returns what `act` does with the published snapshot. Re-reads the object if there is none, or on a conflict.

    Raises TransientError when the object goes on changing. An object that was published as gone is not read: it may
    exist and not be ours to follow.
    """
    snapshot = published or read()
    try:
        return act(snapshot)
    except (Conflict, NotFound) as error:
        changed = TransientError(f"{name} changed since it was read: {error}", CHANGED)
        if published and published.gone:
            raise changed from error
        now = read()
        if (now and now.version) == (snapshot and snapshot.version):
            raise changed from error
    try:
        return act(now)
    except (Conflict, NotFound) as error:
        raise changed from error
