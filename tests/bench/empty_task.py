"""The worker's own application with one more task, which does nothing."""

from __future__ import annotations

from workers.app import TASKS, create_app

app = create_app(tasks=(*TASKS, "tests.bench.empty"))
