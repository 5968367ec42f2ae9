"""A Python client for the control API of a running sandbox AWS."""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from compose.sandbox.aws.faults import AwsFault


@dataclass(frozen=True)
class Network:
    """The ids of a VPC, to put into a pool."""

    vpc: str
    subnets: tuple[str, ...]
    security_group: str


class Remote:
    """A client of the control API. Every method sends one request. A refusal raises urllib.error.HTTPError."""

    def __init__(self, endpoint_url: str) -> None:
        self.endpoint_url = endpoint_url

    def network(self, region: str = "us-east-1") -> Network:
        """Return the ids of a region's VPC."""
        network = self._ask("GET", f"/_network?region={quote(region)}")
        return Network(network["vpc"], tuple(network["subnets"]), network["securityGroup"])

    def counts(self) -> dict[str, int]:
        """Return the number of calls by action since the last reset, including refused ones."""
        return dict(self._ask("GET", "/_calls")["counts"])

    def refusals(self) -> dict[str, int]:
        """Return the number of refused calls by `action code`."""
        return dict(self._ask("GET", "/_calls")["errors"])

    def calls(self, action: str = "") -> list[dict[str, Any]]:
        """Return each call (compose.sandbox.aws.calls.AwsCall), oldest first."""
        return list(self._ask("GET", f"/_calls?log=1&action={quote(action)}")["calls"])

    def fault(self, action: str = "*", **order: Any) -> None:
        """Add a fault; `order` has the fields of compose.sandbox.aws.faults.AwsFault."""
        self._ask("POST", "/_faults", AwsFault(action=action, **order).model_dump())

    def heal(self) -> None:
        """Remove all faults."""
        self._ask("DELETE", "/_faults")

    def change(self, **settings: Any) -> None:
        """Change settings (compose.sandbox.aws.settings.Settings). Groups are merged, not replaced."""
        self._ask("POST", "/_settings", settings)

    def health(self, address: str, healthy: bool, region: str = "us-east-1") -> None:
        """Set the health of a target. `address`: `ip` or `ip:port`."""
        self._ask("POST", "/_health", {"address": address, "healthy": healthy, "region": region})

    def reset(self) -> None:
        """Remove all resources, faults and recorded calls, and restore the first settings."""
        self._ask("POST", "/_reset")

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else orjson.dumps(body)
        request = urllib.request.Request(self.endpoint_url + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return orjson.loads(answer.read())
