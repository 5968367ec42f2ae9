"""Checks that the packages of the reconcilers have the same files, so that who has read one finds the way in all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

PACKAGES: Final = ("ports", "port_pools", "pod_pools", "claims", "claim_sets")
FILES: Final = ("reconciler", "observe", "actions", "status", "explain", "services")
ELSEWHERE: Final = {
    "ports/services": "workers/port_services.py serves pods, port pools and the audit",
    "port_pools/services": "workers/port_services.py serves pods, port pools and the audit",
}
"""Files that a package does not have, and why."""


def offences(root: Path) -> Iterator[str]:
    """Yield one line for each file that is missing, or that is there although ELSEWHERE says that it is not."""
    for name in (f"{package}/{file}" for package in PACKAGES for file in FILES):
        exists = (root / "workers" / f"{name}.py").exists()
        if not exists and name not in ELSEWHERE:
            yield f"workers/{name}.py: a reconciler has {', '.join(FILES)} (docs/adr/0022-layout-and-words.md)"
        if exists and name in ELSEWHERE:
            yield f"workers/{name}.py exists: take it out of ELSEWHERE in scripts/skeleton.py"
