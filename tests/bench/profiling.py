"""Where a process spends its CPU time: samples of py-spy, whose threads run, with or without the GIL."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / "build"
RATE: Final = "250"
SHOWN: Final = 60


def profiled(name: str, process: int, act: Callable[[], object]) -> Path:
    """Do it while the process is sampled. Writes build/profile-NAME.txt, and the raw stacks beside it."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"profile-{name.replace(' ', '-')}.txt"
    raw = path.with_suffix(".raw")
    command = [spy(), "record", "--pid", str(process), "--rate", RATE, "--format", "raw", "--output", str(raw)]
    with subprocess.Popen([*command, "--duration", "600"], stdout=subprocess.PIPE) as sampler:
        try:
            assert sampler.stdout
            sampler.stdout.readline()  # it says so when it begins, a second later
            act()
        finally:
            sampler.send_signal(signal.SIGINT)
            sampler.wait(60)
    path.write_text(table(raw.read_text()))
    return path


def spy() -> str:
    """Raises FileNotFoundError with the way out."""
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if not found:
        raise FileNotFoundError("--profile needs py-spy: pip install py-spy")
    return found


def table(raw: str) -> str:
    """Of stacks `outer;inner COUNT`: the share of each function, with what it calls and alone."""
    within, alone = Counter[str](), Counter[str]()
    for line in raw.splitlines():
        stack, _, number = line.rpartition(" ")
        frames = [frame.rpartition(":")[0] or frame for frame in stack.split(";")]
        alone[frames[-1]] += int(number)
        within.update(dict.fromkeys(frames, int(number)))
    samples = alone.total() or 1
    sides = (("with what it calls", within), ("alone", alone))
    return "\n\n".join(
        f"{title} ({samples} samples)\n" + "\n".join(f"{number / samples:6.1%}  {frame}" for frame, number in top)
        for title, top in ((title, counts.most_common(SHOWN)) for title, counts in sides)
    )
