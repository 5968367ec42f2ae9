"""Death at a chosen moment: the n-th call to AWS or Kubernetes is never made, or made and never answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Killed(BaseException):
    """Not an Exception: nothing in the worker may catch it, as nothing catches SIGKILL."""


@dataclass
class Fuse:
    """Counts calls of everything that it guards; at call number `at` (from 0) it kills, before or after the call."""

    at: int
    after: bool = False
    calls: int = 0

    def guard(self, target: Any) -> Any:
        return Guarded(target, self)

    def run(self, call: Callable[[], Any]) -> Any:
        mine, self.calls = self.calls, self.calls + 1
        if mine == self.at and not self.after:
            raise Killed
        answer = call()
        if mine == self.at:
            raise Killed
        return answer


class Guarded:
    """Stands for any object; every method goes through the fuse, but `on_behalf_of`, which makes another driver."""

    def __init__(self, target: Any, fuse: Fuse) -> None:
        self._target, self._fuse = target, fuse

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if not callable(method):
            return method
        if name == "on_behalf_of":
            return lambda *args, **kwargs: Guarded(method(*args, **kwargs), self._fuse)
        return lambda *args, **kwargs: self._fuse.run(lambda: method(*args, **kwargs))


class Interposed:
    """Stands for a driver; right before the first call of `method` something else happens."""

    def __init__(self, target: Any, method: str, happens: Callable[[], Any]) -> None:
        self._target, self._method, self._happens = target, method, [happens]

    def on_behalf_of(self, *_: Any, **__: Any) -> Interposed:
        return self

    def __getattr__(self, name: str) -> Any:
        if name == self._method and self._happens:
            self._happens.pop()()
        return getattr(self._target, name)
