"""One line of `doctor`."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """The result of one check. `warns`: it passes, but somebody should look at it."""

    name: str
    ok: bool
    finding: str
    warns: bool = False

    def document(self) -> dict[str, str | bool]:
        """Return the check as `doctor --json` prints it."""
        return {"name": self.name, "ok": self.ok, "found": self.finding, "warns": self.warns}
