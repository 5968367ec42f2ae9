"""Error messages for what cannot be read, with advice."""

from __future__ import annotations

from typing import Final

from berthmaster.redis.identity import AnotherFleet
from berthmaster.redis.outage import OUTAGE
from events.kube.api import Denied, KubeError, NotFound, Unavailable
from workers.cli.configured import Unconfigured

WHERE: Final = "KUBECONFIG or BERTHMASTER_KUBERNETES__SERVER"


def in_words(error: Exception) -> str:
    """Return the error as one line, with advice where there is any."""
    text = " ".join(str(error).split())
    return f"{text}: {advice}" if (advice := _advice(error)) else text


def _advice(error: Exception) -> str:
    if isinstance(error, OUTAGE) and not isinstance(error, AnotherFleet):  # its message has the advice
        return "is BERTHMASTER_REDIS__URL right, and does Redis run? `berthmaster doctor` checks it"
    if isinstance(error, Unconfigured):
        return f"set {WHERE}"
    if not isinstance(error, KubeError):
        return ""
    if isinstance(error, Denied):
        return f"permit it, or use another account ({WHERE})"
    if isinstance(error, NotFound):
        return "are our kinds installed (`kubectl apply -f deploy/crds`)?"
    return f"does {WHERE} lead to an API server that runs?" if isinstance(error, Unavailable) else ""
