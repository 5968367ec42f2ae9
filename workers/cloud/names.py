"""Names of the resources that we create.

A name is derived from ids alone, so that the next attempt after a lost answer asks for the same resource. A name may
have 32 letters, digits and inner hyphens, far less than a namespace and a pod name: a hash makes it unique, and the
part before the hash helps people.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Final

OURS: Final = "bm-"
LONGEST: Final = 32
UNREADABLE: Final = len("--0123456789-999")
_LOAD_BALANCER: Final = re.compile(r"[a-z][A-Za-z0-9-]*-[0-9]{1,4}")


def load_balancer_name(cluster: str, pool: str, slot: int, prefix: str = "bm") -> str:
    """For example `bm-arena-4kq2zt7m5a-0`. Slots count from 0 and stay below the pool's maxLoadBalancers."""
    most = min(10, LONGEST - UNREADABLE - len(prefix))
    readable = re.sub(r"[^A-Za-z0-9]+", "-", pool)[:most].strip("-") or "pool"
    return f"{prefix}-{readable}-{_hash(10, cluster, pool)}-{slot}"


def may_be_ours(load_balancer: str) -> bool:
    """Whether a name has the form of ours, with any prefix. Tags decide; this spares reading those of most others."""
    return bool(_LOAD_BALANCER.fullmatch(load_balancer))


def target_group_name(uid: str, lb: str, port: int) -> str:
    """For example `bm-30001-` and 20 characters. `lb` is the load balancer's name or ARN, the same at every call."""
    return f"{OURS}{port}-{_hash(20, uid, lb, str(port))}"


def _hash(length: int, *parts: str) -> str:
    """Lower-case letters and digits, 5 bits each. The parts are joined by a character that no name or id contains."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return base64.b32encode(digest).decode().lower()[:length]
