"""docs/reference says what the models say."""

from __future__ import annotations

from pathlib import Path

import pytest

from events.settings import ProcessSettings
from scripts import reference
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
    for kind in ("PortPool", "PodPool", "PodClaim", "PodClaimSet"):
        assert f"## {kind}\n" in text
    assert "| loadBalancers[].arn |" in text or "| loadBalancers | list of string" in text
    assert "- poolName cannot be changed: make another claim" in text
