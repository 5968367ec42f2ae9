"""Objects that turn out to have changed since the publisher told of them: the event is late, or never comes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from berthmaster.errors import TransientError
from domain.outcome import Outcome
from events.kube.api import Conflict, NotFound
from events.workqueue import Snapshot

CHANGED: Final = timedelta(milliseconds=250)
"""Until the next run, if a second look does not help: the watch brings a newer version about as fast."""

Read = Callable[[], Snapshot | None]
Act = Callable[[Snapshot | None], Outcome]


def as_it_is(name: str, published: Snapshot | None, read: Read, act: Act) -> Outcome:
    """What `act` makes of what was told, or of a `look` where nothing was, or where a conflict shows that it is old.

    Raises TransientError when the object goes on changing. What was told to be gone is not looked at: it may be there,
    and not ours to follow.
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
