"""A queue of keys in Redis: one lease a key, generations, fencing tokens.

Celery's messages alone do not suffice: they get lost, doubled and reordered. Here a message is a hint that keys are
ready, and this queue is the truth: a key never has two runs at once, a change during a run makes the key run again, and
a lost hint is followed by another. The rules were explored as a model before they were written as scripts.
"""

from berthmaster.redis.scripts import Script, Scripts
from events.workqueue.entries import LOST, Ended, EndOfRun, KeyState, LeasedKey, Mark, Refusal, Snapshot, StoredVersion
from events.workqueue.hints import Publish
from events.workqueue.queue import Workqueue
from events.workqueue.shard import AHEAD
from events.workqueue.states import Publication

__all__ = [
    "AHEAD",
    "LOST",
    "EndOfRun",
    "Ended",
    "KeyState",
    "LeasedKey",
    "Mark",
    "Publication",
    "Publish",
    "Refusal",
    "Script",
    "Scripts",
    "Snapshot",
    "StoredVersion",
    "Workqueue",
]
