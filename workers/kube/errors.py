"""Kubernetes errors as a run's errors, in one table: which are worth another try, and which only a person can fix.

Conflict and NotFound are answers for callers that expect them. Elsewhere they mean: observe again. An Event on the
object of the run reports what was refused for good, however the run ends.
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
    """Wrap a run: raise TransientError or TerminalError for an answer of the API server.

    Each write that was refused for good is counted, and reported by an Event on the object, once while nothing changes.
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
