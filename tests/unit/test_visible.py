"""Nothing that steers a terminal, hides or reorders text passes; everything else stays as it is."""

from __future__ import annotations

import io
import logging
import sys
import unicodedata

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from compose.sandbox.lines import PlainLines
from compose.sandbox.live import Screen
from compose.sandbox.picture import Notice, Picture
from domain.port_audit.difference import Difference, DifferenceKind, Remedy
from domain.visible import visible, visible_line
from events.workqueue import KeyState
from tests.support.faults.hostile import HOSTILE, ODD, sent_raw
from workers.cli import audit, explain
from workers.cli.check import Check
from workers.cli.doctor import line
from workers.cli.flower_pages import SHOWN, format_task
from workers.cli.output import InertConsole
from workers.ports.explain import PodExplanation, PortPoolExplanation
from workers.settings import LogSettings
from workers.telemetry.logs import formatter


@pytest.mark.row("HO-10")
def test_every_control_character_is_spelled_out_and_every_bidirectional_one() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    passed = set(visible_line(everything))
    steering = {c for c in everything if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")} - {"\t"}
    turning = {c for c in everything if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI")}
    turning |= {c for c in everything if unicodedata.bidirectional(c) in ("RLI", "FSI", "PDI")}
    assert passed & (steering | turning) == set()
    assert visible(everything).count("\n") == 1


@pytest.mark.row("HO-10")
@given(st.text())
def test_json_with_every_control_character_spelled_out_is_the_same_json(text: str) -> None:
    shown = visible(orjson.dumps({"result": text}, option=orjson.OPT_INDENT_2).decode())
    assert orjson.loads(shown) == {"result": text}
    assert sent_raw(shown) == []


@pytest.mark.row("HO-10")
def test_letters_and_the_lines_of_a_plan_stay_readable() -> None:
    plan = "+ Größe: 3 → 5\n\t- имя «β» 日本語 🚢\n"
    assert visible(plan) == plan


@pytest.mark.row("HO-10")
def test_a_table_has_room_for_what_it_spells_out() -> None:
    out = io.StringIO()
    table = Table("result", "next")
    table.add_row(HOSTILE, "end")
    console = InertConsole(file=out, width=300, force_terminal=True)
    console.print(table, Text(ODD), HOSTILE, style="red")
    text = Text.from_ansi(out.getvalue()).plain
    assert visible_line(HOSTILE) in text
    assert sent_raw(text) == []
    assert text.splitlines()[3].count("│") == 3


@pytest.mark.row("HO-10")
def test_what_doctor_audit_and_explain_print_of_aws_and_pods_is_inert(capsys: pytest.CaptureFixture[str]) -> None:
    difference = Difference(HOSTILE, HOSTILE, 1, DifferenceKind.MISSING, HOSTILE, HOSTILE, Remedy.NONE)
    audit.show(audit.AuditReport({difference: HOSTILE}, 1, {HOSTILE: 1}, [HOSTILE]))
    InertConsole(width=300).print(line(Check(HOSTILE, ok=False, finding=HOSTILE)))
    pools = PortPoolExplanation(HOSTILE, HOSTILE, epoch="1", quota=HOSTILE, auto_create=HOSTILE, trouble=HOSTILE)
    run = KeyState(dirty=True, held=False, ready_ms=None, due_ms=None, now_ms=0, tries=0, pools=())
    explain.show(PodExplanation(HOSTILE, None, HOSTILE, run, None, (pools,)))
    told = capsys.readouterr()
    assert sent_raw(told.out + told.err) == []
    assert told.out.count("\\u202e") >= 10


@pytest.mark.row("HO-10")
@pytest.mark.parametrize("live", [False, True])
def test_lines_of_the_sandbox_are_inert(live: bool) -> None:
    out = io.StringIO()
    console = InertConsole(file=out, width=300)
    report = Screen(console, 0, 1) if live else PlainLines(console, 0)
    report.step(HOSTILE)
    report.show(Picture(notices=(Notice("PortPool", HOSTILE, HOSTILE, HOSTILE),)))
    if isinstance(report, Screen):
        console.print(report.render())
    report.close()
    assert out.getvalue().count("[red]") >= 4
    assert sent_raw(out.getvalue()) == []


@pytest.mark.row("HO-10")
@pytest.mark.parametrize("chosen", ["console", "json"])
def test_lines_of_the_log_are_inert(chosen: str) -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        failed = sys.exc_info()
    record = logging.LogRecord("celery", logging.WARNING, __file__, 1, f"refused {HOSTILE}", (), failed)
    record.__dict__.update(headers=HOSTILE, nested={"a": [HOSTILE]})
    text = formatter(LogSettings.model_validate({"format": chosen})).format(record)
    assert sent_raw(Text.from_ansi(text).plain) == []
    assert text.count("u202e") >= 4


@pytest.mark.row("HO-10")
def test_fields_of_a_task_are_inert_in_flower() -> None:
    class Task:
        args = kwargs = result = name = exception = traceback = HOSTILE

    task = format_task(Task())
    assert sent_raw("".join(getattr(task, name) for name in SHOWN)) == []
