"""`python -m workers.cli.launch SECONDS ARGUMENTS`: Celery's command line, in a process that ends within its grace.

A signal that comes while Celery is still being imported ends the process at once; afterwards Celery's own handlers
stand, and `SECONDS` bound what they may take.
"""

from __future__ import annotations

import signal
import sys

from events.grace import end_at_once, end_within

STARTED = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Never returns."""
    for number in STARTED:
        signal.signal(number, end_at_once)
    end_within(float(sys.argv.pop(1)))
    from celery.__main__ import main as celery  # here: it takes seconds to import

    sys.argv[0] = "celery"
    celery()


if __name__ == "__main__":
    main()
