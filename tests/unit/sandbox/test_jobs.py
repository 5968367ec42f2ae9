"""The service of the sandbox that submits jobs: what it says when, and what counts as lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from berthmaster.client import Request
from berthmaster.jobs.results import Result
from compose.sandbox.jobs import AGAIN, EVERY, REST, THOUGHT, Jobs, pod_pool
from domain.pod_pools.pod_pool import PodPoolSpec


class Recorder:
    """Stands for the client: keeps what is said, and tells what a test puts into `told`."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.told: list[Result] = []

    def submit(self, request: Request) -> None:
        self.said.append(f"submit {request.id}")

    def confirm(self, pool: str, job: str, plan: str) -> None:
        self.said.append(f"confirm {job} {plan}")

    def cancel(self, pool: str, job: str) -> None:
        self.said.append(f"cancel {job}")

    def results(self, pool: str, at: str, wait: timedelta) -> Iterator[Result]:
        told, self.told = self.told, []
        yield from told

    def tell(self, number: int, state: str, attempt: str = "1-1", result: str = "") -> None:
        self.told.append(Result("1", f"job-{number:04}", state, attempt, result))


def jobs(number: int) -> tuple[Jobs, Recorder]:
    fleet = Recorder()
    return Jobs(fleet, number, 3), fleet  # type: ignore[arg-type]  # the recorder has what the service uses


def test_jobs_come_at_a_steady_pace_until_all_are_there() -> None:
    service, fleet = jobs(2)
    for at in (0.0, EVERY / 2, EVERY, 2 * EVERY, 3 * EVERY):
        service.step(100 + at)
    assert fleet.said == ["submit job-0001", "submit job-0002"]
    assert next(iter(service.pending())).startswith("2 jobs have not ended: job-0001 (submitted), job-0002")


def test_what_is_not_heard_of_is_said_again() -> None:
    service, fleet = jobs(1)
    service.step(100)
    service.step(100 + AGAIN)
    fleet.tell(1, "reserved", "1-7")
    for at in (0.0, THOUGHT, AGAIN, THOUGHT + AGAIN):
        service.step(200 + at)
    assert fleet.said == ["submit job-0001"] * 2 + ["confirm job-0001 1-7"] * 2


def test_another_plan_of_a_job_is_another_decision() -> None:
    service, fleet = jobs(1)
    service.step(100)
    for at, attempt in ((200, "1-7"), (300, "1-9")):
        fleet.tell(1, "reserved", attempt)
        service.step(at)
        service.step(at + THOUGHT)
    assert fleet.said[1:] == ["confirm job-0001 1-7", "confirm job-0001 1-9"]


def test_one_in_six_is_refused_and_that_is_as_it_should_be() -> None:
    service, fleet = jobs(5)
    for number in range(5):
        service.step(100 + number * EVERY)
    fleet.tell(5, "reserved")
    service.step(200)
    service.step(200 + THOUGHT)
    assert fleet.said[-1] != "confirm job-0005 1-1"
    assert "cancel job-0005" in fleet.said
    for number in range(1, 5):
        fleet.tell(number, "succeeded")
    fleet.tell(5, "cancelled")
    service.step(300)
    assert (list(service.pending()), list(service.wrong())) == ([], [])
    assert service.counts == {"succeeded": 4, "cancelled": 1}


@pytest.mark.parametrize("state", ["lost", "failed", "expired", "cancelled"])
def test_a_job_that_ends_otherwise_is_named(state: str) -> None:
    service, fleet = jobs(1)
    service.step(100)
    fleet.tell(1, state, result="its pod went")
    service.step(101)
    assert list(service.pending()) == []
    assert list(service.wrong()) == [f"1 jobs ended as they should not: job-0001 ({state}: its pod went)"]


def test_waves_follow_each_other_after_a_rest_only_when_asked_for() -> None:
    service, fleet = jobs(1)
    service.step(100)
    fleet.tell(1, "succeeded")
    service.step(101)
    service.step(102 + REST)
    assert fleet.said == ["submit job-0001"]
    service.step(103 + REST, more=True)
    assert fleet.said == ["submit job-0001", "submit job-0002"]


def test_the_pool_of_the_sandbox_is_valid() -> None:
    assert PodPoolSpec.model_validate(pod_pool(3)["spec"]).max_replicas == 3
