"""LineBuffer out of chunks, however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from events.kube.stream import Chunked, LineBuffer

LINES = st.lists(st.binary(min_size=1, max_size=30).map(lambda text: text.replace(b"\n", b".")), max_size=8)
CUTS = st.lists(st.integers(0, 400), max_size=12)


def cut(data: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(each, len(data)) for each in at), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(LINES, CUTS, CUTS)
def test_every_line_comes_out_once_and_in_order(
    lines: list[bytes], chunk_cuts: list[int], read_cuts: list[int]
) -> None:
    chunks = [each for each in cut(b"".join(line + b"\n" for line in lines), chunk_cuts) if each]
    wire = b"".join(b"%X;name=value\r\n%s\r\n" % (len(each), each) for each in chunks) + b"0\r\n\r\n"
    chunked, found = Chunked(), LineBuffer()
    result = [line for piece in cut(wire, read_cuts) for line in found.feed(chunked.decode(piece))]
    assert result == lines
    assert chunked.ended


def test_a_line_without_its_end_is_kept_back() -> None:
    lines = LineBuffer()
    assert lines.feed(b"whole\nbroken") == [b"whole"]
    assert lines.feed(b" line") == []
    assert lines.feed(b"\n\nnext\n") == [b"broken line", b"next"]
