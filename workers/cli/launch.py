"""`python -m workers.cli.launch SECONDS ARGUMENTS`: Celery's command line, in a process that ends within its grace.

A signal that arrives while Celery is being imported ends the process at once. Later, Celery's own handlers run, and
`SECONDS` limits the time that they may take.
"""

from __future__ import annotations

import signal
import sys

from events.grace import end_at_once, end_within

STARTED = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Become Celery; never returns."""
    for number in STARTED:
        signal.signal(number, end_at_once)
    end_within(float(sys.argv.pop(1)))
    from celery.__main__ import main as celery  # here: it takes seconds to import

    sys.argv[0] = "celery"
    celery()


if __name__ == "__main__":
    main()
