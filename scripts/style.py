"""The rules of our style that no ready-made linter has: sizes, Lua scripts, reasons of exemptions, words, providers.

Each check is a module with `offences(root)`, which yields one line a fault. This module runs the checks over the tree
and prints the faults.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Final, TypeAlias

from scripts import exemptions, lua_headers, lua_includes, provider_names, raw_metadata, sizes, skeleton, words

Check: TypeAlias = Callable[[Path], Iterator[str]]

CHECKS: Final[dict[str, Check]] = {
    "sizes": sizes.offences,
    "lua headers": lua_headers.offences,
    "lua includes": lua_includes.offences,
    "exemptions": exemptions.offences,
    "raw metadata": raw_metadata.offences,
    "provider names": provider_names.offences,
    "words": words.offences,
    "skeleton": skeleton.offences,
}


def main(root: Path) -> int:
    """Return the exit status: 0 if no check finds a fault."""
    try:
        faults = {name: list(check(root)) for name, check in CHECKS.items()}
    except (SyntaxError, TokenError) as error:
        print(f"style: a file is not Python: {error}")
        return 1
    for line in (line for lines in faults.values() for line in lines):
        print(line)
    print("style: " + ", ".join(f"{name} {len(lines) or 'ok'}" for name, lines in faults.items()))
    return 1 if any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent.parent))
