"""A queue of keys in Redis: one lease a key, generations, fencing tokens.

Celery's messages alone do not suffice: they get lost, doubled and reordered. Here a message is a hint, and this queue
is the truth: a key never has two runs at once, a change during a run makes the key run again, and a sweep finds lost
hints. The rules were explored as a model before they were written as scripts.
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
