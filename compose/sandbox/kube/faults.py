"""Faults on demand: what the API does wrong, to whom and how often.

`POST /_faults` sets a fault, and `DELETE /_faults` clears all. A fault may be limited to verbs, resources, names and
clients. A fault ends after `times` uses (None: when it is cleared).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

Json = dict[str, Any]
KUBELET: Final = "sandbox-kubelet"
"""The client name of the kubelet. Only faults that name this client concern it."""


@dataclass(frozen=True)
class ApiCall:
    """A request, as permissions see it."""

    verb: str
    group: str
    resource: str
    """Plural, with `/subresource` where there is one."""
    namespace: str
    name: str
    client: str
    """First word of the User-Agent."""
    user: str


class AccessRule(BaseModel):
    """A rule as in a Role."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    apiGroups: tuple[str, ...] = ()  # noqa: N815 - the API's spelling
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resourceNames: tuple[str, ...] = ()  # noqa: N815 - the API's spelling

    def permits(self, call: ApiCall) -> bool:
        """Return whether the rule permits a call."""
        wanted = ((self.apiGroups, call.group), (self.resources, call.resource), (self.verbs, call.verb))
        named = not self.resourceNames or call.name in self.resourceNames
        return named and all("*" in allowed or value in allowed for allowed, value in wanted)


class ApiFault(BaseModel):
    """A fault, with limits on the calls that it concerns.

    Of requests: `error` answers `status`, `conflict` 409, `deny` 403, and `allow` 403 to all that `rules` do not
    permit. `slow` waits `seconds` first. `drop` closes the connection unanswered. `lose` carries the request out, then
    closes unanswered.
    Of watches: `expire` answers 410. `empty` ends at once. `stall` sends nothing. `swallow` omits a line. `repeat`
    sends a line twice.
    At once: `cut` closes open watches. `compact` forgets old versions.
    """

    model_config = ConfigDict(extra="forbid")

    fault: Literal[
        "error", "conflict", "deny", "allow", "slow", "drop", "lose",
        "expire", "empty", "stall", "swallow", "repeat", "cut", "compact",
    ]  # fmt: skip
    times: int | None = None
    verbs: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: str = ""
    """Regular expression for the whole name."""
    clients: tuple[str, ...] = ()
    status: int = 503
    retry_after: int | None = None
    seconds: float = 0.0
    rules: tuple[AccessRule, ...] = ()
    used: int = Field(default=0, description="how often it has happened")

    def concerns(self, call: ApiCall) -> bool:
        """Return whether a call is within the limits of the fault."""
        limits = ((self.verbs, call.verb), (self.resources, call.resource))
        if call.client == KUBELET and KUBELET not in self.clients:
            return False
        if self.clients and call.client not in self.clients:
            return False
        named = not self.names or re.fullmatch(self.names, call.name)
        return bool(named) and all(not allowed or value in allowed for allowed, value in limits)


class ApiFaults:
    """The active faults."""

    def __init__(self) -> None:
        self.active: list[ApiFault] = []

    def matching(self, kind: str, call: ApiCall) -> Iterator[ApiFault]:
        """Return the faults of a kind that concern a call. Removes faults that are used up."""
        if not self.active:
            return iter(())
        spent = [fault for fault in self.active if fault.times is not None and fault.used >= fault.times]
        self.active = [fault for fault in self.active if fault not in spent] if spent else self.active
        return (fault for fault in self.active if fault.fault == kind and fault.concerns(call))

    def stands(self, kind: str, call: ApiCall) -> bool:
        """Return whether a fault of a kind concerns a call, without using the fault up."""
        return next(self.matching(kind, call), None) is not None

    def take(self, kind: str, call: ApiCall) -> ApiFault | None:
        """Return the first fault of a kind that concerns a call, and count one use of it. None: there is none."""
        fault = next(self.matching(kind, call), None)
        if fault:
            fault.used += 1
        return fault

    def permitted(self, call: ApiCall) -> bool:
        """Return whether no `deny` and no `allow` fault forbids a call. Uses a `deny` up once."""
        return not self.take("deny", call) and self.within_rules(call)

    def within_rules(self, call: ApiCall) -> bool:
        """Return whether the rules of the `allow` faults permit a call. Without such faults all calls are permitted."""
        allowing = list(self.matching("allow", call))
        return not allowing or any(rule.permits(call) for fault in allowing for rule in fault.rules)
