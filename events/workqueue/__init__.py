"""A queue of keys in Redis: one lease a key, generations, fencing tokens.

Why not Celery's messages alone: they get lost, doubled and reordered, and know nothing of each other. Here a
message is a hint and this queue is the truth: a key is never run twice at once, a change during a run makes it run
again, and what was lost is found. The rules were explored as a model before they were written as scripts.
"""

from berthmaster.redis.scripts import Script, Scripts
from events.workqueue.entries import LOST, KeyState, LeasedKey, Mark, Refusal, Snapshot, StoredVersion
from events.workqueue.hints import Publish, push
from events.workqueue.queue import Workqueue

__all__ = [
    "LOST",
    "KeyState",
    "LeasedKey",
    "Mark",
    "Publish",
    "Refusal",
    "Script",
    "Scripts",
    "Snapshot",
    "StoredVersion",
    "Workqueue",
    "push",
]
