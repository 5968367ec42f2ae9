"""A process of threads that call AWS as workers do.

`python -m tests.support.ports.aws_caller AWS_URL REDIS_URL NAME THREADS CALLS`

Each thread makes its calls one after the other and comes back when it is told to. Rates are those of RATE.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from berthmaster.redis.incarnation import connect
from workers.cloud.aws.nlb import aws_nlb
from workers.cloud.aws.settings import AwsSettings, RateSettings, RatesSettings
from workers.cloud.call_budget import OverBudget
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import CloudNotFound
from workers.cloud.priority import Priority
from workers.stores.buckets import RedisBuckets

REGION = "us-east-1"
RATE = RateSettings(per_second=40, burst=20)


def attempts(driver: LoadBalancerApi) -> Iterator[float]:
    """Ask for a resource that does not exist until the budget lets the call through; yield each wait in seconds."""
    while True:
        try:
            driver.targets("arn:none")
        except OverBudget as later:
            yield later.retry_after.total_seconds() if later.retry_after else 0.0
        except CloudNotFound:
            return


def work(driver: LoadBalancerApi, calls: int) -> None:
    for _ in range(calls):
        for seconds in attempts(driver):
            time.sleep(seconds)


def main(aws_url: str, redis_url: str, name: str, threads: int, calls: int) -> None:
    settings = AwsSettings(endpoint_url=aws_url, rates=RatesSettings(describe=RATE))
    with closing(connect(redis_url)) as redis, ThreadPoolExecutor(threads) as pool:
        driver = aws_nlb(settings, REGION, RedisBuckets(redis, "aws", REGION, settings.rates))
        mine = [driver.on_behalf_of(f"{name}/{n}", Priority.BIND) for n in range(threads)]
        for done in [pool.submit(work, each, calls) for each in mine]:
            done.result()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
