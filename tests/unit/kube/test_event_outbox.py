"""Events on their way: nobody waits for them, and a process that ends sends what it has."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from workers.kube.event_outbox import THREADS, EventOutbox, flush_all

LONG = 30.0


class HungApi:
    """Takes requests and answers none until it is released."""

    def __init__(self) -> None:
        self.free, self.sent = Event(), list[int]()

    def request(self, number: int) -> None:
        assert self.free.wait(LONG)
        self.sent.append(number)


@pytest.mark.row("KU-27")
def test_an_event_is_not_waited_for_and_a_full_queue_refuses_it() -> None:
    api, outbox = HungApi(), EventOutbox(most=5)
    taken = [outbox.put(lambda number=number: api.request(number)) for number in range(5 + THREADS + 20)]  # type: ignore[misc] # mypy infers no lambda with a default
    assert 5 <= sum(taken) <= 5 + THREADS  # as many as wait, and those on their way
    assert not outbox.flush(0.01)
    api.free.set()
    assert outbox.flush(LONG)
    assert len(api.sent) == sum(taken)


def fails() -> None:
    raise ValueError("not a KubeError")


@pytest.mark.row("KU-27")
def test_an_event_that_fails_holds_no_other_up() -> None:
    api, outbox = HungApi(), EventOutbox()
    api.free.set()
    for _ in range(2 * THREADS):
        outbox.put(fails)
    outbox.put(lambda: api.request(1))
    assert outbox.flush(LONG)
    assert api.sent == [1]


def test_the_process_waits_for_each_outbox() -> None:
    api, outboxes = HungApi(), [EventOutbox(), EventOutbox()]
    for number, outbox in enumerate(outboxes):
        outbox.put(lambda number=number: api.request(number))  # type: ignore[misc] # mypy infers no lambda with a default
    waiting = Thread(target=lambda: api.sent.append(10 + flush_all(LONG)))
    waiting.start()
    api.free.set()
    waiting.join(LONG)
    assert sorted(api.sent) == [0, 1, 11]
