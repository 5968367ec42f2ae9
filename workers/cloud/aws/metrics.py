"""Metrics of this process's calls to AWS."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from workers.cloud.errors import CloudError

CALLS = Counter(
    "berthmaster_aws_calls_total",
    "Calls to AWS, by action, what became of them (ok, throttled, denied, notfound, ...) and AWS's error code.",
    ["action", "result", "code"],
)
CALL_SECONDS = Histogram(
    "berthmaster_aws_call_seconds",
    "Duration of a call to AWS, without the wait for its token.",
    ["action"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15),
)
BUDGET_WAITS = Counter(
    "berthmaster_aws_budget_waits_total",
    "Calls that found no token: slept for it, or deferred to a later run.",
    ["api_class", "outcome"],
)


def observe_call(action: str, failure: CloudError | None, seconds: float) -> None:
    """Count one call and its duration."""
    result, code = (failure.result, failure.code) if failure else ("ok", "")
    CALLS.labels(action, result, code).inc()
    CALL_SECONDS.labels(action).observe(seconds)


def calls() -> int:
    """The number of calls of this process so far."""
    samples = (sample for metric in CALLS.collect() for sample in metric.samples)
    return int(sum(sample.value for sample in samples if sample.name.endswith("_total")))


def count_budget_wait(api_class: str, outcome: str) -> None:
    """Count one call that found no token; `outcome` is slept or deferred."""
    BUDGET_WAITS.labels(api_class, outcome).inc()
