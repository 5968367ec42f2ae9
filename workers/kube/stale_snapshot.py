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

Look = Callable[[], Snapshot | None]
Act = Callable[[Snapshot | None], Outcome]


def as_it_is(name: str, told: Snapshot | None, look: Look, act: Act) -> Outcome:
    """What `act` makes of what was told, or of a `look` where nothing was, or where a conflict shows that it is old.

    Raises TransientError when the object goes on changing. What was told to be gone is not looked at: it may be there,
    and not ours to follow.
    """
    known = told or look()
    try:
        return act(known)
    except (Conflict, NotFound) as error:
        changed = TransientError(f"{name} changed since it was read: {error}", CHANGED)
        if told and told.gone:
            raise changed from error
        now = look()
        if (now and now.version) == (known and known.version):
            raise changed from error
    try:
        return act(now)
    except (Conflict, NotFound) as error:
        raise changed from error
