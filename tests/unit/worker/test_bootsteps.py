"""What a worker process does before its first task."""

from __future__ import annotations

import sys

from workers.app import create_app
from workers.celery_app.bootsteps import SWITCH_EVERY, ShareInterpreter


def test_a_thread_that_computes_holds_the_others_up_for_less_than_a_millisecond() -> None:
    assert ShareInterpreter in create_app().steps["worker"]
    before = sys.getswitchinterval()
    try:
        ShareInterpreter(None)
        assert sys.getswitchinterval() == SWITCH_EVERY < 0.001
    finally:
        sys.setswitchinterval(before)
