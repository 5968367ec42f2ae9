"""`make bench`: every bench in turn, a table each and one of all budgets, results kept in build/bench/.

Each runs alone, because what runs beside a measurement is part of it. A budget that is missed is a finding to report:
it changes nothing here but the word in the table. A bench that fails is named, and the others run.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import orjson
import structlog
from rich.console import Console
from rich.table import Table

from tests.bench.ledger import show
from tests.bench.measuring import Report, as_json, keep, machine

BENCHES = (
    *("imports", "ledger", "publisher", "reconcile", "latency", "jobs"),
    *("convergence", "precreated", "restart", "mass_failure", "claims", "claims_real", "cost", "autoscaler", "pages"),
)
BY_NAME = ("backlog", "scale")
"""Take too long to run with the others."""


def main() -> int:
    """The exit status: 1 when a bench could not be done."""
    parser = argparse.ArgumentParser(prog="make bench", description="The budgets, as ratios measured in one run.")
    parser.add_argument("--only", choices=(*BENCHES, *BY_NAME), action="append", help="this one (may be given again)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all reports there as well")
    parser.add_argument("--profile", action="store_true", help="with --only cost: write build/profile-*.txt as well")
    chosen, console = parser.parse_args(), Console()
    if chosen.profile and chosen.only != ["cost"]:
        parser.error("--profile goes with --only cost")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    names, options = chosen.only or BENCHES, {"profile": True} if chosen.profile else {}
    reports = [report for name in names if (report := measured(name, chosen.quick, console, **options))]
    console.print(summary(reports), f"machine: {machine()}")
    if chosen.json:
        chosen.json.write_bytes(orjson.dumps([as_json(report) for report in reports], option=orjson.OPT_INDENT_2))
    return int(len(reports) < len(names))


def measured(name: str, quick: bool, console: Console, **options: bool) -> Report | None:
    """None: it failed, and has said how."""
    console.rule(name)
    began = time.monotonic()

    def tell(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:5.0f} s  {text}")

    try:
        report: Report = import_module(f"tests.bench.{name}").run(quick, tell, **options)
    except Exception:  # noqa: BLE001 - whatever it was, the others can still be measured
        traceback.print_exc()
        return None
    tell(f"kept in {keep(report)}")
    console.print(show(report))
    return report


def summary(reports: Sequence[Report]) -> Table:
    """Of what has a budget."""
    table = Table("bench", "what", "value", "budget", "met", title="budgets")
    words = {True: "[green]yes", False: "[red]NO"}
    for report in reports:
        for figure in report.figures:
            if figure.met is not None:
                value = f"{figure.value:.2f} {figure.unit}"
                table.add_row(report.name, figure.what, value, figure.budget, words[figure.met])
    return table


if __name__ == "__main__":
    sys.exit(main())
