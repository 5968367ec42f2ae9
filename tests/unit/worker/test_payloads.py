"""Payloads: taken, or refused with the name of the field."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berthmaster.jobs.payload import Payload
from workers.tasks.payloads import BeginDrain, Nothing, PayloadRefused, ReconcilePod, ReconcilePool, ScaleUp, read

MODELS = (Nothing, ReconcilePod, ReconcilePool, ScaleUp, BeginDrain)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(["key", "requested", "pool", "epoch", "token", "hint", "x"])


@pytest.mark.parametrize(
    "model, args",
    [
        (Nothing, ()),
        (ReconcilePod, ("pod/games/lobby-0",)),
        (ReconcilePod, ("pod/games/lobby-0", True)),
        (ReconcilePool, ("portpool/arena",)),
        (ScaleUp, ("arena", "7", "abc")),
        (BeginDrain, ("1700000000000000-1",)),
    ],
)
def test_a_payload_is_taken_by_position_or_by_name(model: type[Payload], args: tuple[Any, ...]) -> None:
    named = dict(zip(model.model_fields, args, strict=False))
    assert read(model, args, {}) == read(model, (), named)


@pytest.mark.parametrize(
    "model, args, kwargs, named",
    [
        (ReconcilePod, (), {}, "key"),
        (ReconcilePod, ("pod/UPPER/p",), {}, "key"),
        (ReconcilePod, ("portpool/arena",), {}, "key"),
        (ReconcilePod, ("pod/a/b\n",), {}, "key"),
        (ReconcilePod, ("pod/a/b", "yes"), {}, "requested"),
        (ReconcilePod, ("pod/a/b", False, 3), {}, "argument 3"),
        (ReconcilePod, ("pod/a/b",), {"key": "pod/a/b"}, "key (given twice)"),
        (ReconcilePod, ("pod/a/b",), {"extra": 1}, "extra"),
        (ScaleUp, ("arena", 7, "abc"), {}, "epoch"),
        (BeginDrain, (True,), {}, "hint"),
        (BeginDrain, ("x" * 101,), {}, "hint"),
        (Nothing, (1,), {}, "argument 1"),
    ],
)
def test_a_bad_payload_is_refused_with_the_name_of_its_field(
    model: type[Payload], args: tuple[Any, ...], kwargs: dict[str, Any], named: str
) -> None:
    with pytest.raises(PayloadRefused) as refused:
        read(model, args, kwargs)
    assert f"{named}: " in str(refused.value)


@pytest.mark.row("EV-07")
@given(st.sampled_from(MODELS), st.lists(JSON, max_size=4), st.dictionaries(NAMES | st.text(), JSON, max_size=4))
def test_no_payload_has_another_end_than_taken_or_refused(
    model: type[Payload], args: list[Any], kwargs: dict[str, Any]
) -> None:
    with suppress(PayloadRefused):
        assert isinstance(read(model, tuple(args), kwargs), model)
