"""A wall clock of one real process that a test moves while the process runs.

A small library, compiled once a session, is preloaded into the process. It adds an offset to what the C library says of
the wall clock, and reads the offset from a file that both map into memory. The monotonic clocks stay as they are, as
they do when somebody sets the clock of a machine.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

SOURCE: Final = Path(__file__).with_suffix(".c")
OFFSET: Final = struct.Struct("<q")
COMPILERS: Final = ("cc", "gcc", "clang")


class ShiftedClock:
    """Start processes with `variables` in their environment: they share this clock, and so do their children."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the file with the offset, 0 at first."""
        self.offset = folder / "clock-offset"
        self.offset.write_bytes(OFFSET.pack(0))
        with self.offset.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), OFFSET.size)

    @property
    def variables(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(library()), "SHIFTED_CLOCK": str(self.offset)}

    def move(self, seconds: float) -> None:
        """Sets the clock to the true time plus `seconds`, from the process's next look on."""
        self._memory[:] = OFFSET.pack(round(seconds * 1e9))


@cache
def library() -> Path:
    """The compiled library. Raises FileNotFoundError, with the way out, where there is no C compiler."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise FileNotFoundError("tests that move a clock need a C compiler: apt-get install gcc libc6-dev")
    target = Path(mkdtemp(prefix="shifted-clock-")) / "shifted_clock.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(target), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target
