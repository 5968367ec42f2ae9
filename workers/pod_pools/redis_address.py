"""The address of Redis for runner pods. It never contains a credential of the workers.

Runners get the user of their pool and its password as variables of their own, from the pool's Secret. An address may
need another secret of the workers: a password of the sentinels, or a client certificate. Runners cannot connect
without it, so that no runner is created until the operator names an address for runners.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from berthmaster.redis.address import without
from workers.settings import WorkerSettings

USER: Final = frozenset({"username", "password"})
PASSWORDS: Final = frozenset({"sentinel_password", "ssl_password"})
FILES: Final = frozenset({f"{whose}ssl_{kind}" for whose in ("", "sentinel_") for kind in ("certfile", "keyfile")})
VARIABLE: Final = "BERTHMASTER_SLOTS__RUNNER_REDIS_URL"


class RunnerAddress(NamedTuple):
    """`withheld`: why runners cannot connect by `url`, and what the operator can do; '' when they can."""

    url: str
    withheld: str = ""


def runner_address(settings: WorkerSettings) -> RunnerAddress:
    """The address that the operator names for runners, else that of the workers without their credentials."""
    own = settings.slots.runner_redis_url
    workers = [settings.redis.url, settings.broker_url]
    if own:
        ours = {pair for url in workers for pair in _options(url) if pair[0] in PASSWORDS}
        secret = {name for name, value in _options(own) if (name, value) in ours}
        why = "is the workers' own: give runners a user of their own there"
        return RunnerAddress(without(own, USER | secret), _reason(secret, VARIABLE, why))
    secret = {name for name, _ in _options(settings.redis.url)} & (PASSWORDS | FILES)
    why = f"is for the workers alone: name an address for runners in {VARIABLE}"
    url = without(settings.redis.url, USER | PASSWORDS | FILES | {"sentinel_username"})
    return RunnerAddress(url, _reason(secret, "BERTHMASTER_REDIS__URL", why))


def _options(url: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(url).query, keep_blank_values=True)


def _reason(secret: Iterable[str], variable: str, why: str) -> str:
    names = ", ".join(sorted(secret))
    return f"{names} in {variable} {why}" if names else ""
