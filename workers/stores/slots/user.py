"""The Redis user of a pool's runners: it may use the keys of its pool and the queues of its pods, and nothing else.

Its passwords are set as digests, all at once, by the run that knows which pods live. They replace the former ones. So a
user that Redis has lost (Redis keeps none over a restart, and gives none to a replica) is simply created again.

Its commands are those of the slot scripts, and those of kombu 5.7 as a server shows them (MONITOR) with gossip, mingle,
events and remote control off; these would need channels and keys that all workers share. It gets no command that lists
keys, and none that loads a script: an endless script would stop the server for everybody.
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
    *("time", "del", "hdel", "hexists", "hget", "hgetall", "hincrby", "hmget", "hset", "hvals"),
    *("sadd", "scard", "smembers", "srem", "xadd", "xdel", "xrange", "zadd", "zpopmin", "zrange", "zrem"),
)
MESSAGES: Final = ("brpop", "rpop", "lpush", "rpush", "llen", "exists", "get", "set", "zrevrangebyscore")
COMMANDS: Final = (*HANDSHAKE, *SCRIPTS, *LEDGER, *MESSAGES)
KEYS: Final = ("{{sp:{pool}}}*", "{queues}*", "_kombu.binding.{queues}*", "_kombu.binding_permanent.{queues}*")


def user_name(pool: str) -> str:
    """Return the name of the pool's user; `pool` is namespace/name."""
    return f"berthmaster:{pool}"


def rights(pool: str) -> list[str]:
    """Return the rules of `ACL SETUSER` about keys, channels and commands; `pool` is namespace/name."""
    keys = (f"~{key.format(pool=pool, queues=runner_queues(pool))}" for key in KEYS)
    return [*keys, f"%R~{KEY}", "resetchannels", "-@all", *(f"+{command}" for command in COMMANDS)]


class RunnerUser:
    """The user of one pool. Only the pool's run changes it."""

    def __init__(self, redis: Redis, pool: str) -> None:
        self._redis, self.pool, self.name = redis, pool, user_name(pool)
        self._key = f"{{su:{pool}}}"  # a key that its runners do not reach

    def ensure(self, token: str, digests: Iterable[str]) -> str:
        """Make exactly these passwords (SHA-256, hexadecimal) valid. Returns why Redis refuses, '' if it does not.

        Raises StaleToken when a newer run has the pool.
        """
        return self._change_user(
            token, "SETUSER", self.name, "reset", "on", *sorted(f"#{d}" for d in digests), *rights(self.pool)
        )

    def unconfined(self) -> bool:
        """Tell whether everybody gets in as the default user, who may do more. False where we may not ask."""
        try:
            default: Any = self._redis.acl_getuser("default")
        except OUTAGE:
            raise
        except ResponseError:
            return False
        return bool(default) and {"on", "nopass"} <= {text(flag) for flag in default["flags"]}

    def exists(self) -> bool:
        """Tell whether the pool has a user, by a key that a loss of Redis deletes as well."""
        return bool(self._redis.exists(self._key))

    def remove(self, token: str) -> None:
        """Remove the user and its connections. Changes nothing for a pool that never had a user."""
        if self.exists() and not self._change_user(token, "DELUSER", self.name):
            self._redis.delete(self._key)

    def _change_user(self, token: str, *command: str) -> str:
        """Change the user in a transaction: scripts may not change users, but a watched key stops an older run."""
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
    """Compare two tokens: a token is microseconds and a nonce."""
    if latest is None or latest == token.encode():
        return False
    return int(latest.partition(b"-")[0]) >= int(token.partition("-")[0])
