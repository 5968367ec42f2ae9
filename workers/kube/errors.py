"""Kubernetes errors in the words of a run, in one table: what to try again, and what only a person can mend.

Conflict and NotFound are answers, which callers look at where they expect them; elsewhere they mean: look again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from domain.errors import TerminalError, TransientError
from events.kube_api import Invalid, KubeError


@contextmanager
def translated() -> Iterator[None]:
    """Around a run: raises TransientError or TerminalError for what the API server answered."""
    try:
        yield
    except Invalid as error:
        raise TerminalError(f"Kubernetes refused a write: {error}") from error
    except KubeError as error:
        raise TransientError(f"Kubernetes: {error}", error.retry_after) from error
