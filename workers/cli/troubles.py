"""Error messages for what cannot be read, with advice."""

from __future__ import annotations

from typing import Final

from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.unusable import UnusableRedis
from events.kube.api import Denied, KubeError, NotFound, Unavailable
from workers.cli.configured import Unconfigured

WHERE: Final = "KUBECONFIG or BERTHMASTER_KUBERNETES__SERVER"


REDIS: Final = "BERTHMASTER_REDIS__URL"
PASSWORD: Final = f"are user and password in {REDIS} right?"
ABOUT_REDIS: Final = {
    "invalid username-password": PASSWORD,
    "WRONGPASS": PASSWORD,
    "without any password configured": f"this Redis needs no password: remove it from {REDIS}",
    "uthentication required": f"name user and password in {REDIS}",
    "HELLO must be called with the client already authenticated": f"name user and password in {REDIS}",
    "has no permissions": f"give the user in {REDIS} this right, or name another user",
    "DB index is out of range": f"is {REDIS} right? It ends with the number of the database",
    "Redis refuses for now": "docs/operations.md says what to do when Redis refuses",
}
"""A part of an error's text -> what to do, where the server runs and answers."""


def in_words(error: Exception) -> str:
    """Return the error as one line, with advice where there is any."""
    text = " ".join(str(error).split())
    cause = error.__cause__ if isinstance(error, TimeoutError) else None
    reason = cause if isinstance(cause, OUTAGE) else error
    return f"{text.removesuffix('.')}: {advice}" if (advice := _advice(reason)) else text


def _advice(error: Exception) -> str:
    if isinstance(error, OUTAGE) and not isinstance(error, UnusableRedis):  # its message has the advice
        text = str(error)
        return next(
            (advice for part, advice in ABOUT_REDIS.items() if part in text), f"is {REDIS} right, and does Redis run?"
        )
    if isinstance(error, Unconfigured):
        return f"set {WHERE}"
    if not isinstance(error, KubeError):
        return ""
    if isinstance(error, Denied):
        return f"permit it, or use another account ({WHERE})"
    if isinstance(error, NotFound):
        return "are our kinds installed (`kubectl apply -f deploy/crds`)?"
    return f"does {WHERE} lead to an API server that runs?" if isinstance(error, Unavailable) else ""
