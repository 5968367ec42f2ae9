"""docs/tuning.md knows the benches and dashboards that there are, and counts as the defaults do."""

from __future__ import annotations

import re

import pytest

from tests.bench.__main__ import BENCHES, BY_NAME
from tests.unit.test_dashboards import DASHBOARDS, OPERATIONS, dashboard
from workers.cli.checks import MEMORY_WARNS
from workers.cloud.aws.settings import RatesSettings
from workers.settings import CelerySettings

TEXT = (OPERATIONS.parent / "tuning.md").read_text(encoding="utf-8")
MEASURE = TEXT.split("## Measure first\n")[1].split("\n## ")[0]


@pytest.mark.row("EV-21")
def test_every_bench_is_named_and_no_other() -> None:
    told = next(line for line in MEASURE.splitlines() if "`make bench`" in line)
    assert set(re.findall(r"`([a-z_]+)`", told)) == {*BENCHES, *BY_NAME}


@pytest.mark.row("EV-21")
def test_every_dashboard_is_named_and_no_other() -> None:
    titles = {str(dashboard(path)["title"]).removeprefix("Berthmaster / ") for path in DASHBOARDS}
    assert set(re.findall(r"(?<![*\w])\*([A-Z][^*]+)\*(?!\*)", TEXT)) == titles


@pytest.mark.row("EV-21")
def test_numbers_that_the_text_counts_with_are_the_defaults() -> None:
    rates = RatesSettings()
    binds, creates = rates.registration, rates.write
    assert f"{binds.per_second:g} `REGISTRATION` and {creates.per_second:g} `WRITE` a second" in TEXT
    assert f"{binds.burst} and {creates.burst} at once" in TEXT
    seconds = (200 - binds.burst) / binds.per_second
    assert f"(200 - {binds.burst}) / {binds.per_second:g} = {seconds:g} seconds" in TEXT
    assert (200 * 2 - creates.burst) / creates.per_second < seconds
    assert f"`BERTHMASTER_CELERY__CONCURRENCY` ({CelerySettings().concurrency})" in TEXT
    assert (MEMORY_WARNS, "three quarters of `maxmemory`" in TEXT) == (0.75, True)
