"""Kubernetes errors in the words of a run, in one table: what to try again, and what only a person can mend.

Conflict and NotFound are answers, which callers look at where they expect them; elsewhere they mean: look again. What
is refused for good is told on the object whose run it was, whatever the run made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from berthmaster.errors import TerminalError, TransientError
from events.kube.api import Invalid, KubeError, refused_writes
from events.workqueue import Snapshot
from workers.kube.events import KubeEvents
from workers.telemetry import metrics


@contextmanager
def translated(events: KubeEvents, key: str, snapshot: Snapshot | None) -> Iterator[None]:
    """Around a run: raises TransientError or TerminalError for what the API server answered.

    Each write that it refused for good is counted, and is an Event of the object, once as long as that stays as it is.
    """
    with refused_writes() as refused:
        try:
            yield
        except Invalid as error:
            raise TerminalError(f"Kubernetes refused a write: {error}") from error
        except KubeError as error:
            raise TransientError(f"Kubernetes: {error}", error.retry_after) from error
        finally:
            for write in [write for write in refused if write.resource != metrics.EVENTS]:  # counted by their writer
                metrics.count_refused_write(write.resource, write.verb)
                events.write_refused(key, snapshot, write)
