"""What the sandbox says of itself in the end."""

from __future__ import annotations

from dataclasses import replace
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
    assert ("127.0.0.1:6443" in shown.get()) == lasting
    assert "/sandbox" in shown.get()


@pytest.mark.row("UI-11")
def test_what_a_newcomer_asks_is_answered() -> None:
    console = Console(width=120)
    with console.capture() as shown:
        console.print(replace(SUMMARY, jobs={"succeeded": 5, "cancelled": 1}).table())
    assert "refuses every sixth plan" in shown.get()
    assert "a full port pool got load balancers" in shown.get()
    assert "BERTHMASTER_REDIS__URL" in SUMMARY.hints()[0]
    assert [hint for hint in SUMMARY.hints() if "kubectl get" in hint and "needs kubectl" not in hint] == []
