"""Whether the Celery broker answers, whatever its kind."""

from __future__ import annotations

from kombu import Connection

PATIENCE = 3  # seconds


def broker_problem(url: str) -> str | None:
    """None: it answers. Else why not."""
    options = {"socket_connect_timeout": PATIENCE, "socket_timeout": PATIENCE}
    try:
        with Connection(url, connect_timeout=PATIENCE, transport_options=options) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE)
    except Exception as error:  # noqa: BLE001 - each transport has exceptions of its own
        return str(error) or type(error).__name__
    return None
