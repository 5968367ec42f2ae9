"""The worker of these tests: the reconciler that tells on itself, and the real tasks of jobs."""

from __future__ import annotations

from workers.app import create_app

app = create_app(tasks=("workers.tasks.queue", "workers.tasks.pod_pools", "tests.support.servers.probe_tasks"))
