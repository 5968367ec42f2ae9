"""How `doctor` compares the clocks of servers with the clock of this machine."""

from __future__ import annotations

from typing import Final

from workers.cli.check import Check

CLOCKS_APART: Final = 3.0  # seconds


def judge_clock(server: str, ahead: float) -> Check:
    """`ahead`: seconds that the server is ahead."""
    ok = abs(ahead) <= CLOCKS_APART
    offset = f"{abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} this machine"
    advice = "let both follow NTP: AWS refuses calls that are signed five minutes off, and logs cannot be compared"
    return Check(f"Clock of {server}", ok, offset if ok else f"{offset}: {advice}")
