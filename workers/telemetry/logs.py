"""One log: structlog's events and the lines of Celery and libraries look alike, as JSON lines or coloured.

Celery's lines about each task and tick are left out below DEBUG: each run logs what it did in one line.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from typing import Any

import orjson
import structlog
from structlog.typing import EventDict, Processor

from domain.visible import visible
from workers.cloud.providers import LOGGERS
from workers.settings import LogSettings

CHATTY = ("celery.worker.strategy", "celery.app.trace", "celery.beat", "urllib3", "kombu", "amqp", *LOGGERS)
SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.stdlib.ExtraAdder(),
]


def set_up(settings: LogSettings, listeners: Sequence[Processor] = ()) -> None:
    """Replace the root logger's handlers by one that writes to standard error; `listeners` get our events."""
    structlog.configure(
        processors=[*listeners, *SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(settings.level),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(settings))
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(settings.level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.NOTSET if settings.level == "DEBUG" else logging.WARNING)
    logging.captureWarnings(capture=True)


def formatter(settings: LogSettings) -> structlog.stdlib.ProcessorFormatter:
    """Return the formatter of all lines: coloured for a console, else JSON."""
    console = settings.format == "console" or (settings.format == "auto" and sys.stderr.isatty())
    last: list[Processor] = (
        [structlog.processors.format_exc_info, shown, structlog.dev.ConsoleRenderer()]
        if console
        else [structlog.processors.format_exc_info, JSON_LINES]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last]
    )


def shown(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Prepare an event for a terminal. Tracebacks keep their lines; any value but text is shown by its repr."""
    return {name: visible(value) if isinstance(value, str) else value for name, value in event.items()}


def as_json(event: Any, **_options: Any) -> str:
    """Encode an event, also one that orjson refuses (half a character, a long number): no line may be lost."""
    try:
        return visible(orjson.dumps(event, default=str).decode())
    except (TypeError, ValueError):
        return visible(json.dumps(event, default=repr, skipkeys=True))


JSON_LINES = structlog.processors.JSONRenderer(serializer=as_json)
