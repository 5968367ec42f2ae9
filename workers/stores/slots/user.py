"""The Redis user of a pool's runners: it reaches the keys of its pool, the queues of its pods, and nothing else.

Its passwords are given as digests, all at once, by whoever knows which pods live: what Redis had before is replaced, so
that a user that Redis lost (it keeps none over a restart, and gives none to a replica) is simply there again.

Which commands: those of the slot scripts, and those of kombu 5.7 as a server shows them (MONITOR) with gossip, mingle,
events and remote control off, which would need the channels and keys of everybody. Nothing that lists keys, and
nothing that brings a script of one's own: an endless one would stop the server for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from redis import Redis
from redis.exceptions import ResponseError, WatchError

from berthmaster.errors import StaleToken, TransientError
from berthmaster.redis.identity import KEY
from berthmaster.redis.outage import OUTAGE
from berthmaster.routing import runner_queues

HANDSHAKE: Final = ("auth", "hello", "client|setname", "select", "ping", "info", "echo", "quit")
SCRIPTS: Final = ("evalsha", "multi", "exec", "discard", "watch", "unwatch")
LEDGER: Final = (
    *("time", "del", "hdel", "hget", "hgetall", "hincrby", "hmget", "hset", "hvals", "sadd", "scard", "smembers"),
    *("srem", "xadd", "zadd", "zpopmin", "zrange", "zrem"),
)
MESSAGES: Final = ("brpop", "rpop", "lpush", "rpush", "llen", "exists", "get", "set", "zrevrangebyscore")
COMMANDS: Final = (*HANDSHAKE, *SCRIPTS, *LEDGER, *MESSAGES)
KEYS: Final = ("{{sp:{pool}}}*", "{queues}*", "_kombu.binding.{queues}*", "_kombu.binding_permanent.{queues}*")


def user_name(pool: str) -> str:
    """`pool` is namespace/name."""
    return f"berthmaster:{pool}"


class RunnerUser:
    """Of one pool. Only the run that has the pool changes it."""

    def __init__(self, redis: Redis, pool: str) -> None:
        self._redis, self.pool, self.name = redis, pool, user_name(pool)
        self._key = f"{{su:{pool}}}"  # a key that its runners do not reach

    def ensure(self, token: str, digests: Iterable[str]) -> str:
        """Exactly these passwords (SHA-256, hexadecimal) are good from now on. Why Redis refuses, '' if it does not.

        Raises StaleToken when a newer run has the pool.
        """
        return self._change_user(
            token, "SETUSER", self.name, "reset", "on", *sorted(f"#{d}" for d in digests), *self._rights()
        )

    def unconfined(self) -> bool:
        """Whether everybody is let in as the default user, who may do more. False where that cannot be asked."""
        try:
            default: Any = self._redis.acl_getuser("default")
        except OUTAGE:
            raise
        except ResponseError:
            return False
        return bool(default) and {"on", "nopass"} <= {text(flag) for flag in default["flags"]}

    def exists(self) -> bool:
        """Whether there is one, as far as Redis has not lost that with it."""
        return bool(self._redis.exists(self._key))

    def remove(self, token: str) -> None:
        """With its connections. Nothing is changed for a pool that never had one."""
        if self.exists() and not self._change_user(token, "DELUSER", self.name):
            self._redis.delete(self._key)

    def _rights(self) -> list[str]:
        keys = (f"~{key.format(pool=self.pool, queues=runner_queues(self.pool))}" for key in KEYS)
        return [*keys, f"%R~{KEY}", "resetchannels", "-@all", *(f"+{command}" for command in COMMANDS)]

    def _change_user(self, token: str, *command: str) -> str:
        """Scripts may not change users; a key that is watched keeps an older run from it all the same."""
        pipe: Any = self._redis.pipeline(transaction=True)
        try:
            pipe.watch(self._key)
            if _newer(pipe.get(self._key), token):
                raise StaleToken(f"a newer run has pod pool {self.pool}")
            pipe.multi()
            pipe.set(self._key, token)
            pipe.execute_command("ACL", *command)
            pipe.execute()
        except WatchError as error:
            raise TransientError(f"another run changes the Redis user of pod pool {self.pool}") from error
        except OUTAGE:
            raise
        except ResponseError as error:
            return str(error)
        finally:
            pipe.reset()
        return ""


def text(said: str | bytes) -> str:
    """Return the reply as text, whether redis-py has decoded it or not."""
    return said.decode() if isinstance(said, bytes) else said


def _newer(latest: bytes | None, token: str) -> bool:
    """A token is microseconds and a nonce."""
    if latest is None or latest == token.encode():
        return False
    return int(latest.partition(b"-")[0]) >= int(token.partition("-")[0])
