"""`berthmaster logs`."""

from __future__ import annotations

import orjson
import pytest
from typer.testing import CliRunner, Result

from tests.support.jobs.job_lines import write_lines
from tests.support.jobs.slot_world import SlotWorld
from workers.cli.main import app

POOL = "ci/runners"


@pytest.fixture
def run(redis_url: str) -> CliRunner:
    return CliRunner(env={"BERTHMASTER_CLUSTER": "test", "BERTHMASTER_REDIS__URL": redis_url})


def logs(run: CliRunner, *words: str) -> Result:
    return run.invoke(app, ["logs", *words])


@pytest.mark.row("UI-23")
def test_lines_are_printed_and_steer_no_terminal(world: SlotWorld, run: CliRunner) -> None:
    world.add("a")
    plan = world.planned("j")
    write_lines(world.ledger, "j", plan, "\x1b[2Jclear", "two", first=4)
    write_lines(world.ledger, "j", plan, "nine", first=9, ended=True)
    for more in ((), ("-f",), ("--attempt", plan)):
        result = logs(run, POOL, "j", *more)
        assert result.exit_code == 0
        assert result.stdout.splitlines() == [
            "[3 earlier lines not kept]",
            "\\u001b[2Jclear",
            "two",
            "[3 lines missing here]",
            "nine",
        ]
    as_json = [orjson.loads(line) for line in logs(run, POOL, "j", "--json").stdout.splitlines()]
    assert [(line["attempt"], line["number"], line["text"], line["missing"]) for line in as_json] == [
        (plan, 4, "\x1b[2Jclear", 3),
        (plan, 5, "two", 0),
        (plan, 9, "nine", 3),
    ]


@pytest.mark.row("UI-23")
def test_what_is_not_there_is_said(world: SlotWorld, run: CliRunner) -> None:
    world.submit("j")
    waiting = logs(run, POOL, "j")
    assert (waiting.exit_code, waiting.stdout) == (0, "")
    assert "j: nothing was printed; it is waiting" in waiting.stderr
    for words, why in {
        ("ci/nobody", "j"): "there is no PodPool ci/nobody",
        (POOL, "other"): "knows no job other",
        (POOL, "other", "-f"): "knows no job other",
        (POOL, "j", "--attempt", "1-1"): "job j has no attempt 1-1, or its log is gone. With a log: none",
    }.items():
        result = logs(run, *words)
        assert (result.exit_code, result.stdout) == (1, ""), words
        assert why in result.stderr
    assert logs(run, "runners", "j").exit_code == 2
