"""Run luacheck over every Lua script as Redis gets it: `python -m scripts.lua_expanded luacheck`.

A finding is reported at its place in our own files, once, however many scripts include that place.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from berthmaster.redis.scripts import INCLUDE
from scripts.sources import sources

REPOSITORY: Final = Path(__file__).parent.parent
FLAGS: Final = ("--no-color", "--codes", "--formatter", "plain")
SAID: Final = re.compile(r"^\s*(?P<path>[^:\s]+\.lua):(?P<line>\d+):(?P<column>\d+): (?P<said>.*)$", re.MULTILINE)


class Line(NamedTuple):
    """A line of an expanded script, and its place in our files."""

    path: str
    number: int
    text: str


def expanded(folder: Path, name: str, root: Path = REPOSITORY) -> list[Line]:
    """Return the lines of `folder/name.lua` with its includes, as berthmaster.redis.scripts.script_text joins them."""
    included: set[str] = set()

    def read(name: str) -> Iterator[Line]:
        path = folder / f"{name}.lua"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        for number, text in enumerate(lines, start=1):
            include = INCLUDE.fullmatch(text)
            if not include:
                yield Line(path.relative_to(root).as_posix(), number, text)
            elif include["name"] not in included:
                included.add(include["name"])
                yield from read(include["name"])

    return list(read(name))


def scripts(root: Path) -> dict[str, list[Line]]:
    """Return the lines of every script by path; files in lib/ are in the scripts that include them."""
    paths = [root / path for path, _ in sources(root, ".lua")]
    return {
        path.relative_to(root).as_posix(): expanded(path.parent, path.stem, root)
        for path in paths
        if path.parent.name != "lib"
    }


def findings(output: str, lines: Mapping[str, Sequence[Line]]) -> list[str]:
    """Return luacheck's findings at their places in our files, each once."""
    return list(dict.fromkeys(_place(match, lines[match["path"]]) for match in SAID.finditer(output)))


def _place(said: re.Match[str], lines: Sequence[Line]) -> str:
    line = lines[min(int(said["line"]), len(lines)) - 1]
    return f"{line.path}:{line.number}:{said['column']}: {said['said']}"


def check(command: Sequence[str], root: Path = REPOSITORY) -> int:
    """Run luacheck, print its findings, and return its exit status."""
    by_path = scripts(root)
    with tempfile.TemporaryDirectory() as work:
        for path, lines in by_path.items():
            target = Path(work, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(line.text for line in lines), encoding="utf-8")
        shutil.copy(root / ".luacheckrc", work)
        ran = subprocess.run([*command, *FLAGS, *by_path], cwd=work, check=False, text=True, stdout=subprocess.PIPE)
    if ran.returncode:
        print("\n".join(findings(ran.stdout, by_path)) or ran.stdout)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(check(sys.argv[1:]))
