"""The three ways in which a run can fail. Any other exception is a bug, and is retried like a transient error.

AWS and Kubernetes errors are translated to these in one table each, so that no reconciler knows a provider's codes.
"""

from __future__ import annotations

from datetime import timedelta


class TransientError(Exception):
    """Another attempt may succeed: after `retry_after` if the other side named a time, else after a growing wait."""

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TerminalError(Exception):
    """No attempt can succeed until the input changes. The change makes the key dirty again."""


class StaleToken(Exception):  # noqa: N818 - the word of the protocol: the lease was lost to another holder
    """The run lost its lease, and must write nothing more: another run has the key now."""
