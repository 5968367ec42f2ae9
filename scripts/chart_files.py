"""Copy the files of deploy/ that the Helm charts read into the charts: `make reference`.

Helm reads no file outside of a chart, and links between folders do not survive every archive, mirror and checkout.
`--check` only reports whether the copies are current.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

DEPLOY: Final = Path(__file__).parent.parent / "deploy"
READ: Final = {
    "berthmaster": ("base/*.yaml", "components/*/*.yaml", "alerts/*.yaml"),
    "berthmaster-crds": ("crds/*.berthmaster.dev.yaml",),
}
"""What each chart reads of deploy/."""
UNREAD: Final = "components/*/kustomization.yaml"
"""Kustomize's part, without the lists that a template reads."""


def wanted(deploy: Path = DEPLOY) -> dict[Path, bytes]:
    """Return the content of each copy, by its path below deploy/."""
    return {
        Path("charts", chart, "files", source.relative_to(deploy)): source.read_bytes()
        for chart, patterns in READ.items()
        for pattern in patterns
        for source in deploy.glob(pattern)
        if source.is_file() and not source.name.startswith(".") and not source.relative_to(deploy).match(UNREAD)
    }


def present(deploy: Path = DEPLOY) -> dict[Path, bytes]:
    """Return the content of each copy that there is, by its path below deploy/."""
    files = (file for chart in READ for file in (deploy / "charts" / chart / "files").rglob("*") if file.is_file())
    return {file.relative_to(deploy): file.read_bytes() for file in files}


def write(copies: Mapping[Path, bytes], deploy: Path = DEPLOY) -> None:
    """Make the charts' files these copies and no others."""
    for chart in READ:
        shutil.rmtree(deploy / "charts" / chart / "files", ignore_errors=True)
    for path, content in copies.items():
        (deploy / path).parent.mkdir(parents=True, exist_ok=True)
        (deploy / path).write_bytes(content)


def main(arguments: Sequence[str]) -> int:
    """Write the copies, or with `--check` print those that differ. Exit status 1 for a difference."""
    copies = wanted()
    if "--check" not in arguments:
        write(copies)
        return 0
    there = present()
    stale = sorted(path for path in copies.keys() | there.keys() if copies.get(path) != there.get(path))
    for path in stale:
        source = Path(*path.parts[3:])
        sys.stderr.write(f"deploy/{path} differs from deploy/{source}: change that one, then `make reference`\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
