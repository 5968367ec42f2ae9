"""Kubernetes APIs that record requests, or on which something happens right before one: a death, the work of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from urllib3 import BaseHTTPResponse

from events.kube.api import KubeApi

Happens = Callable[[str], object]


class InterposedKube(KubeApi):
    """`happens(path)` runs before the first `times` requests of `method` to a path with `part` in it, and may raise."""

    def __init__(self, api: KubeApi, method: str, part: str, happens: Happens, times: int = 1) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self._method, self._part, self._happens, self.left = method, part, happens, times

    def send(self, method: str, path: str, *args: Any, **options: Any) -> BaseHTTPResponse:
        if self.left and method == self._method and self._part in path:
            self.left -= 1
            self._happens(path)
        return super().send(method, path, *args, **options)


class RecordedKube(KubeApi):
    """`sent` has each request, as `GET /api/v1/…`."""

    def __init__(self, api: KubeApi) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self.sent: list[str] = []

    def send(self, method: str, path: str, *args: Any, **options: Any) -> BaseHTTPResponse:
        self.sent.append(f"{method} {path}")
        return super().send(method, path, *args, **options)
