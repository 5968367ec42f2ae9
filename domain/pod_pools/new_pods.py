"""What new pods of a pool are created from. Pure."""

from __future__ import annotations

from dataclasses import dataclass


def fingerprint(revision: str, secret: str) -> str:
    """What a pod is created from: a pod with another fingerprint than new pods is replaced."""
    return f"{revision} {secret}".strip()


@dataclass(frozen=True)
class NewPods:
    """What new pods are created from. `withheld`: why they would have no token, '' when they have one or need none."""

    revision: str
    token: str
    withheld: str

    @property
    def fingerprint(self) -> str:
        """A pod with another one is outdated."""
        return fingerprint(self.revision, self.token)
