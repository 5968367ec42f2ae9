"""The ledger's `allocate` against an empty EVALSHA on one connection: by fill, load balancers and ports asked for.

`python -m tests.bench.ledger [--quick] [--json FILE]`. All cases take turns with the empty script in the same seconds.
After each turn the pool is put back as it was by COPY, so that every allocation meets the same fill; opening runs and
putting back are not counted. What is measured is the script as workers call it; the whole method, which also makes
entries of the answer in Python, is told beside it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson
from redis import Redis
from rich.console import Console
from rich.table import Table

from berthmaster.redis.incarnation import INCARNATION, connect
from compose.sandbox.redis_server import RedisServer
from tests.bench.measuring import Figure, Report, Tell, as_json, in_turns, rate, ratio
from tests.support.ports.builders import NLB, active_pool, load_balancers
from tests.support.ports.live_pool import IN_ORDER, single, uid_of
from workers.stores.ports.ledger import Granted

NAME: Final = "ledger"
SINGLE, PIPELINED, FLAT = 0.7, 0.4, 1.5
"""The budgets: single calls, pipelined ones, and how far costs may lie apart."""
CALLS, PIPE = 10, 100
"""A turn."""
KEPT: Final = ("meta", "owners", "lbs", "order", "room")
RANGE: Final = 35_000
FILLS, LBS, PORTS = (0, 50, 99), (1, 10, 100, 1000), (1, 10, 50)
MIDDLE: Final = {"fill": 0, "lbs": 1000, "ports": 1}


class Case:
    """One pool as it is before each turn, and runs that allocate in it. `key` says in what it differs from MIDDLE."""

    def __init__(self, redis: Redis, calls: int, **differs: int) -> None:
        self.redis, self.calls, self.differs = redis, calls, set(differs)
        given = MIDDLE | differs
        self.lbs, self.fill, self.ports = given["lbs"], given["fill"], given["ports"]
        self.key = ", ".join(f"{name} {value}" for name, value in given.items() if name in differs) or "middle"

    @property
    def fits(self) -> bool:
        return self.calls * self.ports <= self.lbs * NLB * (100 - self.fill) // 100

    def prepare(self) -> None:
        name = f"{self.key.replace(' ', '-')}-{self.calls}"
        self.pool = active_pool(self.redis, name, load_balancers(self.lbs), size=RANGE)
        self.pool.fill(self.lbs * NLB * self.fill // 100)
        self.prefix, self.wants = self.pool.ledger.prefix, single(self.ports)
        self.runs = [self.pool.run(f"games/n{n}") for n in range(self.calls)]
        self.rows = [(INCARNATION, run.question(uid_of(run.name), self.wants, IN_ORDER)) for run in self.runs]
        self._copy("", "kept-")
        self.digest = self.pool.scripts["allocate"].digest
        self.pool.scripts["allocate"]([self.prefix], self.rows[0])  # from here on the server has it
        self.put_back()

    def put_back(self) -> None:
        self._copy("kept-", "")

    def _copy(self, source: str, target: str) -> None:
        pipeline = self.redis.pipeline(transaction=False)
        for key in KEPT:
            pipeline.delete(f"{self.prefix}{target}{key}")
            pipeline.copy(f"{self.prefix}{source}{key}", f"{self.prefix}{target}{key}", replace=True)
        pipeline.execute()

    # ---- one turn, in calls a second

    def one_by_one(self) -> float:
        return self._granted(
            lambda: [self.redis.evalsha(self.digest, 1, self.prefix, *row) for row in self.rows], bytes
        )

    def in_a_pipeline(self) -> float:
        return self._granted(lambda: piped(self.redis, self.digest, self.prefix, self.rows), bytes)

    def by_method(self) -> float:
        return self._granted(
            lambda: [run.allocate(uid_of(run.name), self.wants, IN_ORDER) for run in self.runs], Granted
        )

    def _granted(self, act: Callable[[], Sequence[object]], kind: type) -> float:
        answers: list[object] = []
        measured = rate(self.calls, lambda: answers.extend(act()))
        assert all(isinstance(answer, kind) for answer in answers), f"not everything was granted: {self.key}"
        self.put_back()
        return measured


def piped(redis: Redis, digest: str, key: str, rows: Sequence[tuple[bytes, ...]]) -> list[object]:
    pipeline = redis.pipeline(transaction=False)
    for row in rows:
        pipeline.evalsha(digest, 1, key, *row)
    return pipeline.execute()


@contextmanager
def bench_redis() -> Iterator[Redis]:
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder), appendonly=False).start()
        client = connect(server.url)
        try:
            yield client
        finally:
            client.close()
            server.kill()


def run(quick: bool, tell: Tell) -> Report:
    rounds = 20 if quick else 100
    with bench_redis() as redis:
        empty = redis.script_load("return 1")
        tell("single calls")
        alone = cases(redis, CALLS)
        methods = {f"{case.key}, with its Python": case.by_method for case in alone}
        one_by_one = lambda: rate(CALLS, lambda: [redis.evalsha(empty, 1, "{pp:none}") for _ in range(CALLS)])  # noqa: E731 - a name for a side
        single_rates = in_turns(rounds, {"empty": one_by_one, **{c.key: c.one_by_one for c in alone}, **methods})
        tell(f"pipelines of {PIPE}")
        together = cases(redis, PIPE)
        in_a_pipeline = lambda: rate(PIPE, lambda: piped(redis, empty, "{pp:none}", [()] * PIPE))  # noqa: E731 - as above
        piped_rates = in_turns(rounds, {"empty": in_a_pipeline, **{c.key: c.in_a_pipeline for c in together}})
    figures = figures_of("single", alone, single_rates, SINGLE) + figures_of(
        "pipelined", together, piped_rates, PIPELINED
    )
    return Report(NAME, tuple(figures), {"single": single_rates, "pipelined": piped_rates})


def cases(redis: Redis, calls: int) -> list[Case]:
    """The middle, what differs from it in one thing, and the worst of all; prepared."""
    changes = [
        {name: value} for name, values in {"fill": FILLS, "lbs": LBS, "ports": PORTS}.items() for value in values
    ]
    rows = [
        {},
        *(change for change in changes if change.items() - MIDDLE.items()),
        {"fill": FILLS[-1], "ports": PORTS[-1]},
    ]
    found = [case for case in (Case(redis, calls, **row) for row in rows) if case.fits]
    for case in found:
        case.prepare()
    return found


def figures_of(kind: str, rows: Sequence[Case], rates: Mapping[str, list[float]], budget: float) -> list[Figure]:
    found = [
        Figure(f"{kind}: {row.key}", ratio(rates[row.key], rates["empty"]), "x", budget, note=note(row, rates))
        for row in rows
    ]
    for name, values in {"fill": FILLS, "lbs": LBS, "ports": PORTS}.items():
        alike = [ratio(rates["middle"], rates[row.key]) for row in rows if row.differs <= {name}]
        spread = f"{kind}: dearest / cheapest, {name} {values[0]} to {values[-1]}"
        found.append(Figure(spread, max(alike) / min(alike), "x", at_most=FLAT))
    return found


def note(row: Case, rates: Mapping[str, list[float]]) -> str:
    each = {side: 1e6 / statistics.median(values) for side, values in rates.items()}
    text = f"{each[row.key]:.0f} us, empty {each['empty']:.0f}"
    method = f"{row.key}, with its Python"
    return text + (
        f"; with its Python {each[method]:.0f} us, {ratio(rates[method], rates['empty']):.2f} x"
        if method in rates
        else ""
    )


def show(report: Report) -> Table:
    table = Table("what", "value", "budget", "met", "note", title=report.name)
    words = {True: "[green]yes", False: "[red]NO", None: ""}
    for figure in report.figures:
        table.add_row(figure.what, f"{figure.value:.2f} {figure.unit}", figure.budget, words[figure.met], figure.note)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the report there")
    chosen, console = parser.parse_args(), Console()
    report = run(chosen.quick, lambda text: console.print(f"[dim]{text}"))
    console.print(show(report))
    if chosen.json:
        chosen.json.write_bytes(orjson.dumps(as_json(report), option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
