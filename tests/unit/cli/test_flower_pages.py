"""What people read in Flower's table."""

from __future__ import annotations

from types import SimpleNamespace

from workers.cli.flower_pages import format_task


def shown(args: str | None, result: str | None) -> tuple[str, str]:
    task = format_task(SimpleNamespace(args=args, result=result))
    return task.args, task.result


def test_a_result_is_without_quotes_and_what_the_task_was_asked() -> None:
    done = "'port_allocated pod=games/a pool=games lb=bm-0 port=30005; pod_state_changed pod=games/a state=Bound'"
    told = "port_allocated pool=games lb=bm-0 port=30005; pod_state_changed state=Bound"
    assert shown("('pod/games/a',)", done) == ("pod/games/a", told)
    done = "'claim_changed namespace=games claim=a reason=PodBound words=it has b'"
    assert shown("('podclaim/games/a',)", done) == ("podclaim/games/a", "claim_changed reason=PodBound words=it has b")


def test_several_arguments_and_quotes_within_are_written_without_more_quotes() -> None:
    assert shown("('arena', '1', 'a')", '"it\'s done"') == ("arena, 1, a", "it's done")
    assert shown("({'id': 'job-1'},)", "None") == ("{'id': 'job-1'}", "")


def test_nothing_asked_and_nothing_done_is_nothing_to_read() -> None:
    assert shown("()", "None") == ("", "")
    assert shown(None, None) == ("", "")


def test_what_celery_has_cut_off_is_shown_as_it_is() -> None:
    cut = "({'id': 'job-1', ...},", "'job_submitted job=..."
    assert shown(*cut) == cut
