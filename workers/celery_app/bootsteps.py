"""The boot steps of a worker: refusals at its start, metrics, traces and heartbeat."""

from __future__ import annotations

import sys
import time
from typing import Any

import structlog
from celery import bootsteps
from celery.concurrency.prefork import TaskPool as Prefork
from celery.worker import state
from prometheus_client import REGISTRY

from berthmaster import tracing
from berthmaster.broker.address import broker_refusal
from berthmaster.redis.client import unusable
from berthmaster.redis.unusable import UNUSABLE
from workers.celery_app.unsettled import UnsettledMessages
from workers.telemetry import gauges, heartbeat, shared_counters
from workers.wiring.process import services

log = structlog.get_logger()
BEAT_EVERY = 5.0  # seconds
SWITCH_EVERY = 0.0005  # seconds
LONGEST_SILENCE = 30.0  # seconds; a BRPOP is answered or repeated every second


class RefuseAutoscale(bootsteps.Step):
    """Refuses Celery's autoscaler, which loses tasks when it shrinks; threads do not shrink at all."""

    def __init__(self, worker: Any, autoscale: Any = None, **_options: Any) -> None:  # noqa: ARG002 - Celery's signature
        if autoscale:
            raise SystemExit("berthmaster refuses --autoscale: set celery.concurrency, and scale by worker processes")


class RefuseUnusableRedis(bootsteps.Step):
    """Ends a worker at its start if its Redis must not be used. A running worker waits: see OwnConsumer."""

    def __init__(self, worker: Any, **_options: Any) -> None:  # noqa: ARG002 - Celery's signature
        if refusal := unusable(services().redis) or broker_refusal(services().settings.broker_url):
            sys.stderr.write(f"{refusal}\n")
            raise SystemExit(UNUSABLE)


class ShareInterpreter(bootsteps.Step):
    """Lowers Python's switch interval, so that a computing thread soon lets others go on.

    A run of a large pool computes. At Python's 5 ms, each of the many short calls of other threads waited that long for
    it, which doubled the latency of claims.
    """

    def __init__(self, worker: Any, **_options: Any) -> None:  # noqa: ARG002 - Celery's signature
        sys.setswitchinterval(SWITCH_EVERY)


class ServeMetrics(bootsteps.StartStopStep):
    """Serves the metrics of the worker process. A port that is in use ends the worker, which nobody could observe."""

    def __init__(self, worker: Any, **_options: Any) -> None:
        self._settings = services().settings.metrics
        self.enabled = self._settings.port != 0
        if self.enabled:  # before the pool has children
            self._registry = shared_counters.share() if issubclass(worker.pool_cls, Prefork) else REGISTRY
        super().__init__(worker)

    def start(self, worker: Any) -> None:  # noqa: ARG002 - Celery's signature
        """Serve the metrics of this worker process."""
        gauges.serve(self._settings.address, self._settings.port, services().tally.read, self._registry)


class SendTraces(bootsteps.Step):
    """Starts tracing if an endpoint is configured."""

    def __init__(self, worker: Any, **_options: Any) -> None:  # noqa: ARG002 - Celery's signature
        settings = services().settings.tracing
        if settings.endpoint:
            tracing.start(settings.endpoint, settings.share, "berthmaster-worker")


class Heartbeat(bootsteps.StartStopStep):
    """Beats in the event loop of the consumer, and stops with it. A new connection starts it again."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **_options: Any) -> None:
        self._timer: Any = None
        self._unsettled, self._tasks = UnsettledMessages(), RunningTasks()
        heartbeat.forget(services().settings.celery.heartbeat_file)
        super().__init__(consumer)

    def register_with_event_loop(self, consumer: Any, hub: Any) -> None:
        """Beat at once, then once every BEAT_EVERY seconds."""
        self._cancel()
        hub.call_soon(self._beat, consumer)
        self._timer = hub.call_repeatedly(BEAT_EVERY, self._beat, consumer)

    def stop(self, parent: Any) -> None:  # noqa: ARG002 - Celery's signature
        """Stop beating."""
        self._cancel()

    def terminate(self, parent: Any) -> None:
        """Stop beating."""
        self.stop(parent)

    def _beat(self, consumer: Any) -> None:
        settings = services().settings.celery
        held = self._unsettled.oldest(consumer.task_consumer.channel)
        after = settings.stuck_after.total_seconds()
        if trouble := trouble_of(consumer, self._tasks.stuck(after), held, after):
            log.warning("worker_stuck", reason=trouble)
        else:
            heartbeat.beat(settings.heartbeat_file)

    def _cancel(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def trouble_of(consumer: Any, stuck: bool, held: float, after: float) -> str:
    """Return why the worker does no work, '' while it does. A task or a held message may take `after` seconds."""
    if not consumes(consumer):
        return "it does not read from the broker"
    if stuck:
        return f"a task has run for more than {after:.0f} s"
    return f"a message has not been settled for {held:.0f} s" if held > after else ""


def consumes(consumer: Any) -> bool:
    """Tell whether the consumer reads from the broker, or holds as many messages as it may."""
    channel = consumer.task_consumer.channel
    asked = getattr(channel, "_brpop_sent_at", None)  # of kombu's Redis transport; others are believed
    return asked is None or not channel.qos.can_consume() or time.monotonic() - asked < LONGEST_SILENCE


class RunningTasks:
    """The start of each running task, by the monotonic clock: Celery's own is by the wall clock, which may be set."""

    def __init__(self) -> None:
        self._since = dict[str, float]()

    def stuck(self, after: float) -> bool:
        """Tell whether a task has run for more than `after` seconds. A task ends far earlier unless it hangs."""
        now, running = time.monotonic(), tuple(state.active_requests)
        self._since = {request.id: self._since.get(request.id, now) for request in running}
        return any(now - since > after for since in self._since.values())


WORKER_STEPS = (RefuseAutoscale, RefuseUnusableRedis, ShareInterpreter, ServeMetrics, SendTraces)
CONSUMER_STEPS = (Heartbeat,)
