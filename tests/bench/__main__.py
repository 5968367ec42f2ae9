"""`make bench`: every bench in turn, one table each, results kept in build/bench/.

Each runs alone, because what runs beside a measurement is part of it. A budget that is missed is a finding to report:
it changes nothing here but the word in the table.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import orjson
from rich.console import Console

from tests.bench.ledger import show
from tests.bench.measuring import as_json, keep

BENCHES = ("ledger", "publisher", "reconcile", "latency", "convergence", "mass_failure")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description="The budgets, as ratios measured in one run.")
    parser.add_argument("--only", choices=BENCHES, action="append", help="this one (may be given again)")
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all reports there as well")
    chosen, console = parser.parse_args(), Console()
    reports = []
    for name in chosen.only or BENCHES:
        console.rule(name)
        report = import_module(f"tests.bench.{name}").run(chosen.quick, lambda text: console.print(f"[dim]{text}"))
        keep(report)
        console.print(show(report))
        reports.append(report)
    if chosen.json:
        chosen.json.write_bytes(orjson.dumps([as_json(report) for report in reports], option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
