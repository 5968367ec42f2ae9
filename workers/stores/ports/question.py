"""What a run asks of the script `allocate`: one argument, since packing many costs more than the script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import orjson

from domain.port_pools.placement import Ordering

Ask = tuple[str, int] | tuple[str, int, int]
"""A request's key, its number of ports and, for precreated listeners, their kind (domain.ports.precreate)."""
PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')


def question_of(
    owner: tuple[str, str, str, str], wants: Sequence[Ask], order: Ordering, segment: int, port: int
) -> bytes:
    """Return the script `allocate`'s second argument. `owner`: mark of the incarnation, name, token, uid.

    `port`: where the only request must begin, 0 = anywhere. Raises ValueError when a text cannot be joined into JSON.
    """
    singles = [want[0] for want in wants if want[1:] == (1,) and not port]
    ranges = [want for want in wants if want[1:] != (1,) or port]
    if not PLAIN.fullmatch("".join([*owner[2:], *(want[0] for want in wants)])):
        raise ValueError(f"the uid or a want of {owner[1]} has a character that JSON escapes")
    in_rows = [ranges, segment, *([port] if port else [])] if ranges else []
    return orjson.dumps([*owner, order.data, singles, *in_rows])
