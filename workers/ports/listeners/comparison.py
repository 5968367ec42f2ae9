"""Has the owner of a port compare its registered targets with those that should be there.

No call of AWS carries a token, so the call of a run that was overtaken may come after its successor's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from berthmaster.errors import StaleToken, TransientError
from domain.ports.entry import Entry
from workers.port_services import PortServices
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import owners

log = structlog.get_logger()


@contextmanager
def compare_if_refused(services: PortServices, entry: Entry, still_owned: Callable[[], object]) -> Iterator[None]:
    """Wrap the calls for the targets of a port and their record. A refused record makes the port's owner compare.

    By then a call may have registered an address at another pod's port, or one that the pod has left. `still_owned` is
    a script that is refused likewise; it runs when a call has failed, because the call may have had its effect.
    """
    try:
        try:
            yield
        except TransientError:
            still_owned()
            raise
    except (StaleToken, NotReady):
        ask_to_compare(services, entry.pool, entry.key)
        raise


def ask_to_compare(services: PortServices, pool: str, key: str) -> None:
    """Note the request first, then wake the owner: an owner that comes in between finds the request when it records.

    A ledger that is not ready needs no request: whatever its rebuild puts in is compared.
    """
    ledger = services.ledger(pool)
    try:
        Stock(ledger).compare(key)
    except NotReady:
        return
    present = [name for name, entries in owners(ledger) if any(entry.key == key for entry in entries)]
    log.warning("targets_to_compare", pool=pool, place=key, owners=present)
    services.wake_pods(present, [pool])
