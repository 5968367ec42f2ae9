"""The stored form of a snapshot's body: short as text, long compressed, and pinned by the version of the state."""

from __future__ import annotations

import zlib

import orjson
import pytest

from berthmaster.redis.incarnation import STATE_VERSION
from events.workqueue.entries import Mark, snapshot
from events.workqueue.stored_body import LONG, read_body, stored_body
from tests.bench.settled import entry, mark

BOUND = mark("p00007", entry(7))
STORED = (
    "48a82a2a9d6dab46896b5010162362ba00e45273787c1b40812e16020acc47509a00cbea169a669a541497255518eb1aa0a612ac"
    "4a740d0c8d8c4d4ccdcc2d2c13939281790b9c924a8b755381bed135d44bcc4daccacf4b2c2f062515f404668e91c0ccd11218e5"
    "76428cc5913c2d484d9e1614264f004817d393"
)


def test_a_long_body_is_stored_in_a_third_of_its_size_and_read_as_it_was() -> None:
    assert len(BOUND.body) > LONG
    assert len(stored_body(BOUND.body)) < len(BOUND.body) / 3
    assert read_body(stored_body(BOUND.body)) == BOUND.body


@pytest.mark.parametrize("length", [2, LONG - 1])
def test_a_short_body_stays_text(length: int) -> None:
    body = b'{"a":"%s"}' % (b"x" * (length - 8)) if length > 8 else b"{}"
    assert stored_body(body) == read_body(body) == body


@pytest.mark.parametrize("length", [LONG, 5_000, 300_000])
def test_a_snapshot_of_any_length_comes_back(length: int) -> None:
    content = {"text": "ü|\n" * length}
    stored = Mark("pod/games/a", 7, "u1", gone=False, body=orjson.dumps(content)).text()
    read = snapshot(b"000001.%020d%s" % (7, stored))
    assert read
    assert read.body == content


def test_a_body_that_was_compressed_in_another_way_is_no_snapshot() -> None:
    with pytest.raises(ValueError, match="no body of ours"):
        snapshot(b"000001.%020dLu1|%s" % (7, zlib.compress(BOUND.body)[:-9]))
    other = zlib.compressobj(zdict=b"of another version")
    with pytest.raises(ValueError, match="no body of ours"):
        read_body(other.compress(BOUND.body) + other.flush())


def test_what_this_version_of_the_state_has_stored_can_be_read() -> None:
    """Red: the stored form has changed, so raise STATE_VERSION, and store the new form here."""
    assert (STATE_VERSION, read_body(bytes.fromhex(STORED))) == ("v3", BOUND.body)
