"""What the doctor thinks of a Redis server."""

from __future__ import annotations

from workers.cli.checks import judge_server
from workers.stores.server_facts import ServerFacts

GOOD = ServerFacts((7, 2, 4), append_only=True, eviction="noeviction")


def failing(facts: ServerFacts) -> list[str]:
    return [check.name for check in judge_server(facts) if not check.ok]


def test_a_server_that_keeps_everything_is_well() -> None:
    assert failing(GOOD) == []


def test_an_old_forgetful_or_evicting_server_is_not() -> None:
    assert failing(GOOD._replace(version=(6, 2, 14))) == ["Redis is 7.0 or newer"]
    assert failing(GOOD._replace(append_only=False)) == ["Redis keeps an append-only file"]
    assert failing(GOOD._replace(eviction="allkeys-lru")) == ["Redis evicts nothing"]
