"""Counters of workers, runners and clients about messages.

Every counter has a label: see workers.telemetry.metrics.
"""

from __future__ import annotations

from prometheus_client import Counter

MESSAGES_REFUSED = Counter(
    "berthmaster_messages_refused_total", "Entries of a queue that are no message, by what is wrong.", ["reason"]
)
UNSENT = Counter(
    "berthmaster_tasks_unsent_total", "Tasks that the broker did not take; a sweep repeats them.", ["task"]
)
