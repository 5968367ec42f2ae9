"""Which texts name an object of Kubernetes.

The check applies wherever a label, an owner reference, a message or a value of Redis becomes part of a key, of a
queue's name or of a path. A key is split at its slashes, a queue's name at its colons, a path at both. No name contains
either; none is empty or begins with a dot.
"""

from __future__ import annotations

import re
from typing import Final, TypeGuard

NAME: Final = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"
"""What Kubernetes names its objects, as an expression."""
SUBDOMAIN: Final = "[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
"""The same to the letter (DNS-1123, no dot beside a dot), for a text whose length is limited otherwise, to 253."""
UID: Final = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?"
"""What Kubernetes gives an object as its UID: a UUID today, opaque by contract."""

_NAME: Final = re.compile(NAME)
_UID: Final = re.compile(UID)


def is_name(value: object) -> TypeGuard[str]:
    """Tell whether the value is a name that an object or a namespace can have."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def is_uid(value: object) -> TypeGuard[str]:
    """Tell whether the value can be the UID of an object."""
    return isinstance(value, str) and _UID.fullmatch(value) is not None
