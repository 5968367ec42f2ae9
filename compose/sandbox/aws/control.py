"""The control API of the sandbox AWS, for tests and people: faults, settings, health, record, reset.

GET  /_network?region=R   ids of the VPC, subnets and security group
GET  /_calls?log=1&action=A   counts by action, errors, and each call with `log=1`
GET  /_faults   POST /_faults {Fault}   DELETE /_faults
GET  /_settings   POST /_settings {part of Settings}
POST /_health {"region": R, "address": "10.0.0.5" or "10.0.0.5:7000", "healthy": false}
POST /_reset
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from pydantic import ValidationError
from werkzeug.wrappers import Request, Response

from compose.sandbox.aws.account import AwsAccount
from compose.sandbox.aws.faults import AwsFault

REGION = "us-east-1"


class Control:
    """The handlers of the control API, by method and path."""

    def __init__(self, account: AwsAccount) -> None:
        self._account = account
        self._doors: dict[str, Callable[[Request], Any]] = {
            "GET /_network": self._network,
            "GET /_calls": self._calls,
            "GET /_faults": lambda _: [fault.model_dump() for fault in account.faults.orders()],
            "POST /_faults": lambda request: account.faults.order(AwsFault.model_validate_json(request.get_data())),
            "DELETE /_faults": lambda _: account.faults.clear(),
            "GET /_settings": lambda _: account.settings.model_dump(),
            "POST /_settings": lambda request: account.change(orjson.loads(request.get_data())).model_dump(),
            "POST /_health": self._health,
            "POST /_reset": lambda _: account.reset(),
        }

    def answer(self, request: Request) -> Response:
        """Answer a control request: 404 for an unknown path, 400 for an invalid body."""
        door = self._doors.get(f"{request.method} {request.path}")
        if door is None:
            return Response(f"no such door; there are: {', '.join(self._doors)}\n", status=404)
        try:
            reply = door(request)
        except (ValidationError, orjson.JSONDecodeError, KeyError) as error:
            return Response(f"{error}\n", status=400)
        return Response(orjson.dumps(reply), content_type="application/json")

    def _network(self, request: Request) -> dict[str, object]:
        return self._account.backend(request.args.get("region", REGION)).network.described()

    def _calls(self, request: Request) -> dict[str, object]:
        return self._account.calls.report(bool(request.args.get("log")), request.args.get("action", ""))

    def _health(self, request: Request) -> list[str]:
        order = orjson.loads(request.get_data())
        with self._account.lock:
            sick = self._account.backend(order.get("region", REGION)).sick
            (sick.discard if order["healthy"] else sick.add)(order["address"])
            return sorted(sick)
