"""Settings of the workers: variables, defaults, descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from workers.settings import WorkerSettings

Environment = pytest.MonkeyPatch
MEASURED = (int, float, timedelta)


@pytest.fixture
def cluster(monkeypatch: Environment) -> Environment:
    monkeypatch.setenv("BERTHMASTER_CLUSTER", "blue")
    return monkeypatch


def fields(model: type[BaseModel], at: str = "") -> Iterator[tuple[str, Any, str]]:
    """Name, type and description of every leaf."""
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from fields(kind, f"{at}{name}.")
        else:
            yield f"{at}{name}", kind, field.description or ""


def test_nested_settings_come_from_variables_with_double_underscores(cluster: Environment) -> None:
    cluster.setenv("BERTHMASTER_QUEUE__LEASE", "45s")
    cluster.setenv("BERTHMASTER_QUEUE__RETRY__LONGEST", "10m")
    settings = WorkerSettings()
    assert settings.queue.lease == timedelta(seconds=45)
    assert settings.queue.retry.policy().longest == timedelta(minutes=10)


def test_a_cluster_must_be_named(monkeypatch: Environment) -> None:
    monkeypatch.delenv("BERTHMASTER_CLUSTER", raising=False)
    with pytest.raises(ValidationError, match="cluster"):
        WorkerSettings()


@pytest.mark.row("EV-09")
def test_a_lease_shorter_than_a_call_is_refused(cluster: Environment) -> None:
    cluster.setenv("BERTHMASTER_QUEUE__LEASE", "12s")
    with pytest.raises(ValidationError, match="longer than one call"):
        WorkerSettings()


@pytest.mark.row("EV-08")
@pytest.mark.parametrize(("timeout", "refused"), [("149s", True), ("150s", False)])
def test_a_hint_that_would_be_delivered_again_during_its_drain_is_refused(
    cluster: Environment, timeout: str, refused: bool
) -> None:
    """A drain of 130 s begins its last run before its time is over, and a call of that run takes up to 20 s."""
    cluster.setenv("BERTHMASTER_KUBERNETES__REQUEST_TIMEOUT", "10s")
    cluster.setenv("BERTHMASTER_QUEUE__DRAIN_TIME", "130s")
    cluster.setenv("BERTHMASTER_CELERY__VISIBILITY_TIMEOUT", timeout)
    if not refused:
        assert WorkerSettings().celery.visibility_timeout == timedelta(seconds=150)
        return
    with pytest.raises(ValidationError, match=r"celery\.visibility_timeout .* lower queue\.drain_time"):
        WorkerSettings()


def test_without_a_broker_of_its_own_the_state_is_the_broker(cluster: Environment) -> None:
    cluster.setenv("BERTHMASTER_REDIS__URL", "redis://state:6379/1")
    assert WorkerSettings().broker_url == "redis://state:6379/1"
    assert WorkerSettings().broker_is_state
    cluster.setenv("BERTHMASTER_BROKER__URL", "redis://broker:6379/1")
    assert not WorkerSettings().broker_is_state


@pytest.mark.parametrize("name, kind, description", list(fields(WorkerSettings)), ids=lambda value: str(value)[:40])
def test_every_setting_says_what_it_is_and_every_measure_what_changing_it_costs(
    name: str, kind: Any, description: str
) -> None:
    assert description.endswith("."), name
    if kind in MEASURED and not name.endswith("port"):
        assert any(word in description for word in ("raising", "lowering", "above", "below", "costs")), name


@pytest.mark.row("SL-11")
def test_the_end_of_a_job_is_known_until_nothing_of_it_comes_again() -> None:
    """Rule retain: a submit that the broker delivers once more would run the job once more."""
    with pytest.raises(ValidationError, match="must be at least"):
        WorkerSettings.model_validate({"cluster": "c", "slots": {"remember": "1m"}})
    patient = {"cluster": "c", "slots": {"remember": "1h"}, "celery": {"visibility_timeout": "1h"}}
    with pytest.raises(ValidationError, match="must be at least"):
        WorkerSettings.model_validate(patient)
    blocked = {"cluster": "c", "slots": {"remember": "729s"}}  # 2 min, a look, one killed in a look, 10 min of a client
    with pytest.raises(ValidationError, match="must be at least 0:12:10"):
        WorkerSettings.model_validate(blocked)
