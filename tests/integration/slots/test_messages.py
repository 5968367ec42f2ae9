"""Messages of placed jobs on a real broker."""

from __future__ import annotations

import pytest
from redis import Redis

from berthmaster.jobs.job import Job, Placed
from berthmaster.jobs.messages import Body, JobSender, queue_of

GOOD = Body(task="t").encoded()


def placed(job: str, body: str) -> Placed:
    return Placed(job, "1-1", "uid", "pod", "plan", Job(job, ("plan",), body=body))


@pytest.mark.parametrize("body", ["", "[]", "{", '{"task": ""}', "[" * 5000])
def test_a_body_that_nobody_can_read_keeps_no_other_job_from_its_pod(redis: Redis, redis_url: str, body: str) -> None:
    sender = JobSender(redis_url, "ci/runners")
    unsent = sender.send([placed("broken", body), placed("good", GOOD)])
    assert [each.id for each in unsent] == ["broken"]
    assert redis.llen(queue_of("ci/runners", "pod")) == 1
