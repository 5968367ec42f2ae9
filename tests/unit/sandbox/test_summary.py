"""What the sandbox says of itself in the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from compose.sandbox.summary import Summary

FLOWER = {"url": "http://127.0.0.1:5555", "user": "sandbox", "password": "word"}
SUMMARY = Summary(
    converged=True,
    missing=(),
    pods=1,
    bound=1,
    endpoints=1,
    load_balancers={},
    rounds=0,
    aws_calls={},
    aws_refusals={},
    started=1.0,
    first_bound=2.0,
    seconds=3.0,
    directory=Path("/sandbox"),
    kubernetes="http://127.0.0.1:6443",
    kubeconfig=Path("/sandbox/kubeconfig"),
    flower=FLOWER,
)


@pytest.mark.parametrize("lasting", [True, False])
def test_addresses_are_named_only_while_something_answers_there(lasting: bool) -> None:
    console = Console(width=100)
    with console.capture() as shown:
        console.print(SUMMARY.table(lasting))
    assert [word in shown.get() for word in ("127.0.0.1:5555", "127.0.0.1:6443")] == [lasting] * 2
    assert "/sandbox" in shown.get()
