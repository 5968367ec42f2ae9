"""A Redis that must not be used, which no waiting changes: a process that starts ends with one line that says why.

A process that runs treats it as an outage, and loses no work: the address may lead to the right server again.
"""

from __future__ import annotations

from typing import Final

from redis.exceptions import ConnectionError as RedisConnectionError

UNUSABLE: Final = 3
"""Exit status of a process whose Redis must not be used."""


class UnusableRedis(RedisConnectionError):  # noqa: N818 - says what is, not what failed
    """The text names the reason, the setting and the way out."""


class ClusterMode(UnusableRedis):
    """The server has cluster mode on. Our scripts change keys of several hash slots in one step."""

    def __init__(self) -> None:
        super().__init__(
            "this Redis has cluster mode on (redis_mode:cluster), in which no script may change keys of two hash "
            "slots: name a server with cluster mode off in BERTHMASTER_REDIS__URL, and in BERTHMASTER_BROKER__URL if "
            "that is set; docs/install.md lists the offers that work"
        )


class NoIncarnation(UnusableRedis):
    """The server does not say which process it is, so that a loss of its data could not be noticed."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"this Redis does not say its {missing} in INFO, so that a loss of its data would not be noticed: name "
            "another server in BERTHMASTER_REDIS__URL; docs/install.md lists the offers that work"
        )
