"""Loggers of a library: what it logs goes where the process has told structlog to send it.

A process that has told it nothing gets it on stderr. structlog's own default is stdout, which belongs to the service.
"""

from __future__ import annotations

import sys
from typing import Any

import structlog


class _Output:
    """The output that the process has configured by now, looked up for each record."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):  # who copies this asks before it has a name
            raise AttributeError(method)
        if not structlog.is_configured():
            return getattr(structlog.PrintLogger(sys.stderr), method)
        return getattr(structlog.get_config()["logger_factory"](self._name), method)


def get_logger(name: str) -> Any:
    """Return a logger of structlog for a module of ours, `__name__`."""
    return structlog.wrap_logger(_Output(name))
