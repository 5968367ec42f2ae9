"""The memory cloud in a process of its own, for workers that are processes: a call is one round trip over a socket.

Started by `python -m tests.support.ports.shared_cloud --port N`. Errors travel as words, because exceptions with
several arguments do not survive pickling.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from multiprocessing.managers import BaseManager
from typing import Any, Final, cast

from tests.support.ports.memory_cloud import CALL_TIME, MemoryCloud
from tests.support.ports.unlimited import Unlimited
from workers.cloud import errors
from workers.cloud.call_budget import ApiClass, Buckets, OverBudget
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.priority import Priority

KEY: Final = b"not a secret: the loopback only"
CLASSES: Final = {
    "create_load_balancer": ApiClass.WRITE,
    "delete_load_balancer": ApiClass.WRITE,
    "ensure_listener": ApiClass.WRITE,
    "delete_listener": ApiClass.WRITE,
    "ensure_target_group": ApiClass.WRITE,
    "delete_target_group": ApiClass.WRITE,
    "tag": ApiClass.WRITE,
    "register": ApiClass.REGISTER,
    "deregister": ApiClass.REGISTER,
}
"""Prefixes of the methods that write; all others describe."""


class Served:
    """The cloud behind the socket, and a count of the calls."""

    def __init__(self) -> None:
        self.cloud, self.counts = MemoryCloud(), dict[str, int]()

    def call(self, method: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[str, ...]:
        """("", value), or the name of an error's class and its action, code and reason."""
        self.counts[method] = self.counts.get(method, 0) + 1
        try:
            return "", getattr(self.cloud, method)(*args, **named)
        except errors.CloudError as error:
            return type(error).__name__, error.action, error.code, error.reason.removeprefix(f"{error.code}: ")

    def counted(self) -> dict[str, int]:
        """The number of calls of each method since the start."""
        return dict(self.counts)


SERVED: Final = Served()


class Manager(BaseManager):
    pass


Manager.register("served", callable=lambda: SERVED, exposed=("call", "counted"))


class Client:
    """A LoadBalancerApi that asks the served one. Each call takes a token and proves the lease, as with AWS."""

    def __init__(
        self, served: Any, buckets: Buckets, caller: str = "", keep: Callable[[timedelta], None] | None = None
    ) -> None:
        self._served, self._buckets, self._caller, self._keep = served, buckets, caller, keep

    def on_behalf_of(
        self,
        caller: str,
        priority: Priority,
        keep: Callable[[timedelta], None] | None = None,
        patience: timedelta | None = None,
    ) -> Client:
        return Client(self._served, self._buckets, caller, keep)

    def __getattr__(self, method: str) -> Any:
        return partial(self._call, method)

    def _call(self, method: str, *args: Any, **named: Any) -> Any:
        kind = CLASSES.get(method, ApiClass.DESCRIBE)
        if (wait := self._buckets.acquire(kind, self._caller, Priority.BIND)) is not None:
            raise OverBudget(f"no token for a {kind} call yet", wait)
        if self._keep:
            self._keep(CALL_TIME)
        failed, *told = self._served.call(method, args, named)
        if failed:
            raise getattr(errors, failed)(*told)
        return told[0]


def connect(address: str, buckets: Buckets | None = None) -> LoadBalancerApi:
    """`address` is `host:port`. Calls go one connection a thread."""
    return cast("LoadBalancerApi", Client(served(address), buckets or Unlimited()))


def served(address: str) -> Any:
    host, _, port = address.partition(":")
    manager = Manager((host, int(port)), KEY)
    manager.connect()
    return manager.served()  # type: ignore[attr-defined] # made by `register`


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    Manager(("127.0.0.1", parser.parse_args().port), KEY).get_server().serve_forever()


if __name__ == "__main__":
    main()
