"""Settings as Celery names them, each with the reason for its value.

Most guard against a known fault of Celery on Redis; the measurements behind them are in the ADR about the transport.
"""

from __future__ import annotations

from typing import Any

from kombu import Queue

from berthmaster import routing
from berthmaster.broker.address import TIMEOUTS, broker_of, is_amqp
from workers.settings import WorkerSettings


def configuration(settings: WorkerSettings) -> dict[str, Any]:
    """Celery's whole configuration, from our settings."""
    return {**messages(), **transport(settings), **worker(settings), **beat(settings)}


def messages() -> dict[str, Any]:
    """Return the settings of messages, tasks and queues."""
    return {
        "task_serializer": "json",  # pickle would let whoever reaches the broker run code
        "accept_content": ["json"],  # anything else is refused unread
        "task_ignore_result": True,  # what matters is in our own keys; results without readers leak and cost 20 %
        "result_backend": None,  # no connections, no keys for results
        "task_default_queue": routing.MAINTENANCE,  # a task that nobody routed must not delay hints
        "task_queues": [Queue(name, routing_key=name) for name in routing.ALL],
        "task_routes": {task: {"queue": queue} for task, queue in routing.QUEUES.items()},
        "task_create_missing_queues": False,  # a misspelt queue is an error, not a list that nobody reads
        "task_acks_late": True,  # a killed worker leaves its messages to others (early: they are lost)
        "task_acks_on_failure": True,  # a failed task is not repeated by the broker: its key has its own wait
        "task_acks_on_timeout": True,  # same for prefork's time limit
        "task_reject_on_worker_lost": True,  # prefork: a killed child does not acknowledge by its death
        "task_retry_on_worker_lost": True,  # prefork: ... but a task that kills children is not given back for ever
        "task_publish_retry_policy": {"max_retries": 5, "interval_start": 0, "interval_step": 0.2, "interval_max": 1},
        "task_send_sent_event": False,  # one event a hint would double the traffic
    }


def transport(settings: WorkerSettings) -> dict[str, Any]:
    """Return the settings of the broker and its connections."""
    timeout, broker = settings.celery.visibility_timeout.total_seconds(), broker_of(settings.broker_url)
    of_redis = {
        "visibility_timeout": timeout,  # the time until a dead worker's messages are delivered again
        "unacked_restore_interval": settings.celery.restore_every.total_seconds(),  # looked for this often ...
        "unacked_restore_throttle": 1,  # ... and every time: the default looks on every tenth look only
        "unacked_restore_limit": 1000,  # the default of 10 at a time takes minutes after a big crash
        "health_check_interval": settings.celery.health_check_every.total_seconds(),  # half-open connections
        **TIMEOUTS,
        "max_connections": 200,  # many threads acknowledge at once (default 10: "Too many connections")
    }
    return {
        "broker_url": broker.url,
        "broker_connection_retry_on_startup": True,  # Redis may start after the worker
        "broker_connection_max_retries": None,  # the default gives up after 100 attempts and ends the worker
        "broker_pool_limit": 10,  # publishers at a time; consumers have connections of their own
        "visibility_timeout": timeout,  # said in two places, because kombu reads either (celery#9339)
        "broker_transport_options": {**({} if is_amqp(settings.broker_url) else of_redis), **broker.options},
        "broker_heartbeat": 30,  # RabbitMQ: a connection that is dead without a word ends within a minute
    }


def worker(settings: WorkerSettings) -> dict[str, Any]:
    """Return the settings of a worker process."""
    return {
        "worker_consumer": "workers.celery_app.consumer:OwnConsumer",  # runs tasks of ours, of our fleet
        "worker_pool": settings.celery.pool,  # tasks wait for AWS and Kubernetes: threads, at a tenth of the memory
        "worker_concurrency": settings.celery.concurrency,
        "worker_prefetch_multiplier": 1,  # what a worker has reserved waits behind its slowest task
        # RabbitMQ: restored by the thread of a task, which writes into the event loop's connection, and may raise
        "worker_enable_prefetch_count_reduction": not is_amqp(settings.broker_url),
        "worker_cancel_long_running_tasks_on_connection_loss": False,  # they end soon, and done twice costs more
        "worker_soft_shutdown_timeout": 25 if settings.celery.pool == "prefork" else 0,  # threads end with their runs
        "worker_send_task_events": settings.celery.task_events,  # 15-40 % of the throughput of short tasks
        "task_annotations": {tick: {"send_events": settings.celery.tick_events} for tick in settings.tick_periods},
        "worker_hijack_root_logger": False,  # our log set-up stands
        "worker_redirect_stdouts": False,  # nothing of ours prints
        "worker_max_tasks_per_child": 10_000,  # prefork: a leak is bounded
        "worker_detect_quorum_queues": False,  # we declare no type: kombu knows the versions without a global prefetch
    }


def beat(settings: WorkerSettings) -> dict[str, Any]:
    """Return the settings of beat: one entry a periodic task."""
    periods = settings.tick_periods.items()
    return {
        "beat_schedule": {task: {"task": task, "schedule": period.total_seconds()} for task, period in periods},
        # In memory: every task is sent at the start. With a heartbeat.
        "beat_scheduler": "workers.celery_app.schedule:Schedule",
        "beat_max_loop_interval": 1,  # the heartbeat is touched this often
    }
