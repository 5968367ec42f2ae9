"""Cells of ports and slots."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib.resources import files

import pytest

from domain.pod_pools.pod_steps import LedgerState
from domain.ports.entry import EntryState
from tests.support.ports.builders import load_balancer
from workers.fleet_pages.cells import (
    CLOSED,
    FOREIGN,
    FREE,
    IDLE,
    PORT_LETTERS,
    RETIRING,
    SLOT_LETTERS,
    port_cells,
    port_places,
    slot_cells,
)
from workers.stores.slots.pod_records import PodSlots

BOUND, RETAINED = EntryState.BOUND, EntryState.RETAINED


@pytest.mark.row("UI-04")
def test_each_port_has_its_place_where_a_load_balancer_can_give_them_all() -> None:
    lb = load_balancer(capacity=4, foreign=(3,))
    assert port_cells(lb, range(1, 6), [(2, BOUND), (5, RETAINED)]) == ".bf.k"


@pytest.mark.row("UI-04")
def test_ports_in_use_come_first_where_the_range_is_longer_than_what_can_be_given() -> None:
    lb = load_balancer(capacity=4, used=2)
    assert port_cells(lb, range(1, 1001), [(900, BOUND), (7, EntryState.ALLOCATED)]) == "ab.."


@pytest.mark.row("UI-16")
@pytest.mark.parametrize("ports", [range(1, 6), range(1, 1001)])
def test_the_place_of_a_port_is_that_of_its_cell(ports: range) -> None:
    lb, taken = load_balancer(capacity=4, foreign=(3,)), {2: BOUND, 5: RETAINED}
    cells, places = port_cells(lb, ports, taken.items()), port_places(lb, ports, taken)
    assert {port: cells[place] for port, place in places.items() if port in taken} == {2: "b", 5: "k"}


@pytest.mark.row("UI-04")
def test_free_ports_of_a_load_balancer_that_goes_are_retiring() -> None:
    assert port_cells(load_balancer(capacity=0, retiring=True), range(1, 3), [(2, BOUND)]) == "b"
    assert port_cells(load_balancer(capacity=2, retiring=True), range(1, 3), [(2, BOUND)]) == "xb"


@pytest.mark.row("UI-04")
@pytest.mark.parametrize(
    ("view", "cells"), [("open", "rsi"), ("new", "rsn"), ("away", "rsw"), ("claimed", "rsm"), ("fenced", "rsc")]
)
def test_a_slot_without_a_job_is_as_its_pod(view: str, cells: str) -> None:
    pod = PodSlots("u", "p", view, "", ("*",) * 3, ("j", "k", ""), timedelta(0), ("running", "reserved", ""))
    assert slot_cells(pod) == cells


@pytest.mark.row("UI-04")
def test_a_pod_without_slots_is_one_cell() -> None:
    assert slot_cells(PodSlots("u", "p", "claimed", "", (), (), timedelta(0), ())) == "m"
    assert slot_cells(PodSlots("u", "p", "open", "", (), (), timedelta(0), ())) == "i"


@pytest.mark.row("UI-04")
def test_the_pages_draw_every_state_with_a_shape_of_its_own() -> None:
    assert set(PORT_LETTERS) == set(EntryState)
    assert set(IDLE) <= set(LedgerState)
    script = (files("workers.fleet_pages") / "static" / "cells.js").read_text(encoding="utf-8")
    for name, letters in {
        "PORTS": {FREE, FOREIGN, RETIRING, *PORT_LETTERS.values()},
        "SLOTS": {CLOSED, *SLOT_LETTERS.values(), *IDLE.values()},
    }.items():
        (block,) = re.findall(rf"export const {name} = {{(.*?)\n}};", script, re.DOTALL)
        rows = re.findall(r'^  "?([a-z.])"?: \["(\w+)", "(\w+)"\],$', block, re.MULTILINE)
        assert {letter for letter, _, _ in rows} == letters
        assert len({shape for _, _, shape in rows}) == len(rows)
