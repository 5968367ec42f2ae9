"""docs/reference says what the models say."""

from __future__ import annotations

from pathlib import Path

import pytest

from berthmaster import routing
from berthmaster.kinds import OUR_KINDS
from events.settings import ProcessSettings
from scripts import command_line, event_types, reference
from tests.support.commands import number_of_commands, options_of, unknown_words
from tests.support.variables import variables
from workers.settings import WorkerSettings


@pytest.mark.row("EV-21")
def test_the_reference_is_what_the_models_say() -> None:
    assert reference.stale(reference.FOLDER) == [], "run `make reference`"


@pytest.mark.row("EV-21")
def test_a_reference_that_was_edited_or_is_left_over_is_noticed(tmp_path: Path) -> None:
    assert reference.main(tmp_path, []) == 0
    (tmp_path / "settings.md").write_text("nothing")
    (tmp_path / "old.md").write_text("old")
    assert reference.stale(tmp_path) == ["old.md", "settings.md"]
    assert reference.main(tmp_path, ["--check"]) == 1


@pytest.mark.row("EV-21")
def test_every_setting_is_in_the_reference_with_its_default() -> None:
    text = reference.settings()
    for name in variables(WorkerSettings) | variables(ProcessSettings):
        assert f"`{name}`" in text, name
    assert "| `BERTHMASTER_QUEUE__LEASE` | `30s` |" in text
    assert "| `BERTHMASTER_AWS__RATES__REGISTRATION__PER_SECOND` | `4.0` |" in text
    assert "| `BERTHMASTER_CLUSTER` | required |" in text


@pytest.mark.row("EV-21")
def test_every_kind_is_in_the_reference_with_its_fields_and_rules() -> None:
    text = reference.resources()
    for kind in OUR_KINDS:
        assert f"## {kind.name}\n" in text
    assert "| loadBalancers[].arn |" in text or "| loadBalancers | list of string" in text
    assert "- poolName cannot be changed: make another claim" in text


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("command", list(command_line.commands()), ids=lambda each: each.name)
def test_every_command_is_in_the_reference_with_the_options_that_the_program_knows(
    command: command_line.Command,
) -> None:
    assert f"## {command.name}\n\n`{command.usage}`\n\n{command.text}\n" in reference.commands()
    said = {spelled.partition(" ")[0] for option in command.options for spelled in option.name.split(", ")}
    words = command.name.split(" ")[1:]
    if words == ["sandbox"]:  # its options are those of another program
        assert {"--pods", "--once", "--no-churn", "--json", "--dir"} <= said
    else:
        assert said == options_of(words)


@pytest.mark.row("EV-21")
def test_the_reference_leaves_no_command_out() -> None:
    found = [each.name.split(" ")[1:] for each in command_line.commands()]
    assert [words for words in found if unknown_words(words)] == []
    assert len(found) == len({tuple(words) for words in found}) == number_of_commands()


@pytest.mark.row("EV-21")
def test_every_task_is_in_the_reference_and_those_for_other_services_with_their_arguments() -> None:
    text = reference.celery_tasks()
    for name, queue in routing.QUEUES.items():
        assert f"## {name}\n" in text or f"| `{name}` | `{queue}` |" in text, name
    assert "| job.serial_key | string, ≤ 200 characters |" in text
    assert "| key | string |  | **required**, `pod/NAMESPACE/NAME` |" in text
    assert "| `pools.scale_up` | `berthmaster.maintenance` | pool, epoch, token |" in text


@pytest.mark.row("EV-21", "EV-31")
def test_the_page_about_events_is_what_the_models_say(tmp_path: Path) -> None:
    text = event_types.PAGE.read_text(encoding="utf-8")
    assert event_types.current(text) == text, "run `make reference`"
    (page := tmp_path / "events.md").write_text(text.replace("NoFreePort", "Full"), encoding="utf-8")
    assert event_types.main(page, ["--check"]) == 1
    assert event_types.main(page, []) == 0
    assert page.read_text(encoding="utf-8") == text
