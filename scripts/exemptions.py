"""Check that each exemption (`noqa`, `type: ignore`) names its rule and its reason. Complexity has no exemption.

The reason follows on the same line, after a dash or a second `#`: `# noqa: BLE001 - a scrape reports what it can`.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.sources import sources

EXEMPTION: Final = re.compile(r"#\s*(?:noqa\b|type:\s*ignore\b|ruff:|mypy:)")
RULE: Final = r"(?:(?:ruff:\s*)?noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|type:\s*ignore\[[\w,\s-]+\])"
REASONED: Final = re.compile(rf"#\s*{RULE}\s*(?:#|-+|:)\s*\w.+")


def offences(root: Path) -> Iterator[str]:
    """Yield a line for each faulty exemption of the repository."""
    for path, text in sources(root, ".py"):
        yield from faults_of(path, text)


def faults_of(path: str, text: str) -> Iterator[str]:
    """Yield a line for each faulty exemption of a file."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or not EXEMPTION.search(token.string):
            continue
        where = f"{path}:{token.start[0]}"
        if "C901" in token.string:
            yield f"{where}: complexity has no exemptions"
        elif not REASONED.search(token.string):
            yield f"{where}: an exemption names its rule and its reason: {token.string}"
