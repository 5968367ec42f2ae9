"""The body of a snapshot as Redis stores it: JSON, or the same compressed if it is long.

The result that a pod shows is as long as all the rest, and says most of it twice. A compressor that knows a typical
body in advance (DICTIONARY) stores a bound pod in a third of the memory. A short body stays text: compressing it costs
the publisher more time than the memory is worth. DICTIONARY and WINDOW are part of the form of the state: who changes
them raises STATE_VERSION (`berthmaster/redis/incarnation.py`).
"""

from __future__ import annotations

import zlib
from typing import Final

LONG: Final = 400
"""Bytes from which on a body is compressed."""
LEVEL: Final = 6
WINDOW: Final = 12  # 4 kB
MEMORY: Final = 5
DICTIONARY: Final = (
    b'{"namespace":"default","name":"","uid":"","annotations":{"berthmaster.dev/ports":"game=7777/UDP@arena",'
    b'"berthmaster.dev/ports-state":"Bound","berthmaster.dev/endpoints":"[{\\"name\\":\\"game\\",'
    b'\\"containerPort\\":7777,\\"protocol\\":\\"UDP\\",\\"pool\\":\\"arena\\",\\"loadBalancer\\":\\"bm-\\",'
    b'\\"host\\":\\"-0.elb.\\",\\"port\\":30000,\\"endPort\\":30000,\\"address\\":\\".com:30000\\",'
    b'\\"target\\":\\"10.0.0.1:7777\\",\\"status\\":\\"Ready\\"}]"},"ips":["10.0.0.1"],"phase":"Running",'
    b'"deleting":false,"gate":null,"ready":true}'
)
_COMPRESSOR: Final = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW, MEMORY, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
_DECOMPRESSOR: Final = zlib.decompressobj(WINDOW, DICTIONARY)


def stored_body(body: bytes) -> bytes:
    """Return the stored form of a body. JSON begins with a brace, which no compressed text does."""
    if len(body) < LONG:
        return body
    compressor = _COMPRESSOR.copy()
    return compressor.compress(body) + compressor.flush()


def read_body(stored: bytes) -> bytes:
    """Return the body of its stored form. Raises ValueError if it was compressed in another way."""
    if stored[:1] in (b"{", b""):
        return stored
    try:
        return _DECOMPRESSOR.copy().decompress(stored)
    except zlib.error as error:
        raise ValueError(f"no body of ours: {error}") from error
