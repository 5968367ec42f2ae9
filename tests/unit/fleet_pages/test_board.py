"""What viewers of the board get: one exact frame, from whatever number they have."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.waiting import eventually
from workers.fleet_pages.board import FleetBoard
from workers.fleet_pages.reader import PROBLEM, Reader

CHANGES = st.lists(st.dictionaries(st.sampled_from("abcdef"), st.one_of(st.none(), st.integers(0, 3))), max_size=12)


def new_board(read: Any = dict) -> FleetBoard:
    return FleetBoard(Reader(read))


def frame(board: FleetBoard, sequence: int) -> Any:
    text = board.since(board.boot, sequence)
    return None if text is None else orjson.loads(text)["rows"]


def merged(rows: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**rows, **changes}.items() if value is not None}


@pytest.mark.row("UI-03")
@given(CHANGES)
def test_a_viewer_of_any_number_has_all_rows_after_one_frame(history: list[dict[str, Any]]) -> None:
    board, states = new_board(), {0: dict[str, Any]()}
    for changes in history:
        board.apply(changes)
        states[board.sequence] = merged(states[max(states)], changes)
    for sequence, rows in states.items():
        assert merged(rows, frame(board, sequence)) == states[max(states)]
    assert frame(board, board.sequence) == {}


@pytest.mark.row("UI-03")
def test_a_viewer_of_another_boot_or_of_an_unknown_number_reads_everything_again() -> None:
    board = new_board()
    board.apply({"a": 1})
    assert board.since("other", 0) is None
    assert board.since(board.boot, 2) is None
    assert board.since(board.boot, -1) is None


@pytest.mark.row("UI-03")
def test_who_lacks_a_dropped_tombstone_reads_everything_again() -> None:
    board = FleetBoard(Reader(dict), most_rows=2)
    board.apply({"a": 1, "b": 1, "c": 1})
    board.apply({"a": None})
    board.apply({"b": None})
    assert board.since(board.boot, 1) is None
    assert frame(board, 2) == {"b": None}
    assert frame(board, 3) == {}


@pytest.mark.row("UI-03")
def test_the_whole_board_waits_for_a_reading_and_wakes_who_waits() -> None:
    async def seen() -> Any:
        board = new_board(lambda: {"a": 1})
        return orjson.loads(gzip.decompress(await board.whole())), board

    document, board = asyncio.run(seen())
    assert document == {"boot": board.boot, "seq": 1, "rows": {"a": 1}}


@pytest.mark.row("UI-10")
def test_one_reading_serves_all_viewers() -> None:
    all_wait = threading.Event()
    reads: list[int] = []

    def read() -> dict[str, Any]:
        all_wait.wait()
        reads.append(len(reads))
        return {"a": len(reads)}

    async def viewers(number: int) -> list[bool]:
        board = new_board(read)
        board.watch()
        waiting = [asyncio.create_task(board.changed(60)) for _ in range(number)]
        await asyncio.sleep(0)  # each has begun to wait
        all_wait.set()
        return await asyncio.gather(*waiting)

    assert asyncio.run(viewers(10)) == [True] * 10
    assert reads == [0]


@pytest.mark.row("UI-10")
def test_nothing_is_read_while_nobody_looks() -> None:
    readings: list[Any] = []
    reader = Reader(lambda: {"a": 1}, linger=0)
    assert reader.rests

    def settled(number: int) -> bool:
        return len(readings) == number and reader.rests

    for number in (1, 2):
        reader.want(readings.append)
        eventually(partial(settled, number))
    assert readings == [{"a": 1}, {}]


@pytest.mark.row("UI-10")
def test_a_frame_has_what_has_changed_and_nothing_else() -> None:
    board = new_board()
    board.apply({f"lb/arena/{number}": "." * 50 for number in range(100)})
    before = board.sequence
    board.apply({"lb/arena/7": "b" + "." * 49})
    assert frame(board, before) == {"lb/arena/7": "b" + "." * 49}


@pytest.mark.row("UI-03")
def test_a_problem_is_a_row_that_goes_when_it_is_over() -> None:
    answers: list[Any] = [{"a": 1, "b": 2}, ConnectionError("away"), {"a": 3}]

    def read() -> dict[str, Any]:
        if isinstance(answer := answers.pop(0), Exception):
            raise answer
        return dict(answer)

    reader = Reader(read)
    assert reader.changes() == {"a": 1, "b": 2}
    assert reader.changes() == {PROBLEM: "away"}
    assert reader.changes() == {"a": 3, "b": None, PROBLEM: None}
