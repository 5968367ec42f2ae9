"""Authentication and authorization. Without tokens everybody is the administrator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from compose.sandbox.kube.faults import ApiCall, ApiFaults
from compose.sandbox.kube.refusal import forbidden, unauthorized

ADMIN = "admin"
ANONYMOUS = ""


class Access:
    """The users, their permissions, and a count of requests."""

    def __init__(self, tokens: Mapping[str, str], faults: ApiFaults) -> None:
        """`tokens`: users by token; only `admin` has permissions. `ANONYMOUS` stands for no credentials."""
        self.tokens, self.faults = tokens, faults
        self.calls: Counter[tuple[str, str, str, str]] = Counter()
        """Number of requests by (client, verb, group, resource): what a role must permit."""
        self.bytes: Counter[tuple[str, str, str, str]] = Counter()
        """Bytes of the bodies of these requests and of their answers; streams of watches are not counted."""

    def user(self, authorization: str) -> str:
        """Return the user of a request. Raises 401."""
        if not self.tokens:
            return ADMIN
        kind, _, token = authorization.partition(" ")
        user = self.tokens.get(token if kind.lower() == "bearer" else ANONYMOUS)
        if user is None:
            raise unauthorized()
        return user

    def would_allow(self, call: ApiCall) -> bool:
        """Return whether `check` would pass, without counting a request or using up a fault."""
        return call.user == ADMIN and not self.faults.stands("deny", call) and self.faults.within_rules(call)

    def check(self, call: ApiCall) -> None:
        """Count the request. Raises 403 if it is not allowed."""
        self.calls[counted(call)] += 1
        if call.user == ADMIN and self.faults.permitted(call):
            return
        where = f' in the namespace "{call.namespace}"' if call.namespace else " at the cluster scope"
        what = f'User "{call.user}" cannot {call.verb} resource "{call.resource}" in API group "{call.group}"{where}'
        resource = f"{call.resource}.{call.group}" if call.group else call.resource
        raise forbidden(f'{resource} "{call.name}"' if call.name else resource, what)

    def weigh(self, call: ApiCall, size: int) -> None:
        """Count the bytes of a request and its answer."""
        self.bytes[counted(call)] += size


def counted(call: ApiCall) -> tuple[str, str, str, str]:
    """Return what requests are counted by."""
    return call.client, call.verb, call.group, call.resource
