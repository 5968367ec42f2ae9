"""A storm of jobs: runners, workers and Redis die, messages are lost and doubled, the pool shrinks and grows all the
time. At every look the slots in use are the jobs that run; in the end every job was done, and took effect once.

BERTHMASTER_CHAOS_JOBS and _PODS are how many, BERTHMASTER_CHAOS_SECONDS how long it blows, _SEED repeats one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from redis import Redis, RedisError

from berthmaster.client import Fleet
from berthmaster.redis.incarnation import connect
from compose.sandbox.kube.apply import apply
from compose.sandbox.workload import NAMESPACE
from events.kube.api import KubeError
from tests.support.faults.job_faults import JobFaults
from tests.support.faults.spell_faults import Spells
from tests.support.faults.storm_faults import Faults
from tests.support.jobs.job_crowd import JobCrowd, wishes
from tests.support.jobs.job_diary import Diary
from tests.support.jobs.runner_nodes import RunnerNodes
from tests.support.jobs.slot_books import SlotBooks, read
from tests.support.jobs.slot_recount import HOLDING, book_faults
from tests.support.servers.whole import Whole, running
from tests.support.waiting import eventually

SECONDS = float(os.environ.get("BERTHMASTER_CHAOS_SECONDS", "10"))
JOBS = int(os.environ.get("BERTHMASTER_CHAOS_JOBS", "120"))
PODS = int(os.environ.get("BERTHMASTER_CHAOS_PODS", "10"))
SEED = int(os.environ.get("BERTHMASTER_CHAOS_SEED", "0")) or Random().randrange(1, 10**6)
REST = 60.0 + JOBS / 10
PODS_A_NODE, REAL = 20, 1 + PODS // 50
LONG = SECONDS > 60
"""A publisher that is killed costs its Lease's 15 seconds."""
LONGEST = 1.0
"""Seconds of a job."""
POOL = f"{NAMESPACE}/runners"
PATH = f"/apis/berthmaster.dev/v1alpha1/namespaces/{NAMESPACE}/podpools"
PREFIX = f"{{sp:{POOL}}}"


class JobStorm:
    def __init__(self, system: Whole, nodes: RunnerNodes, fleet: Fleet, directory: Path) -> None:
        self.system, self.nodes, self.chance = system, nodes, Random(SEED)
        self.redis: Redis = connect(system.stack.redis.url)
        self.diary = Diary(nodes.diary)
        self.crowd = JobCrowd(fleet, wishes(POOL, JOBS, self.chance, LONGEST), self.chance)
        self.common = Faults(system, self.chance, directory)
        pool = (system.api, f"{PATH}/runners", PODS)
        self.faults = JobFaults(self.common, nodes, self.redis, pool, self.forgotten)
        self.excused: set[str] = set()
        self.happened: Counter[str] = Counter()
        self.looks = self.busiest = self.known = 0
        self.began = time.monotonic()

    def prepare(self) -> None:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        apply(self.system.api, [namespace])
        template = {"spec": {"containers": [{"name": "runner", "image": "runner:0"}]}}
        scaling = {"upCooldown": "0s", "downCooldown": "0s", "step": 20}
        spec = {"template": template, "minReplicas": PODS, "maxReplicas": PODS, "scaling": scaling}
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodPool", "metadata": {"name": "runners"}}
        self.system.api.create(PATH, body | {"spec": spec})
        eventually(lambda: self.open() >= min(PODS, 1 + PODS // 2), timeout=60 + PODS, every=0.2)

    def open(self) -> int:
        return sum(pod["v"] == "open" for pod in read(self.redis, PREFIX).pods.values())

    # ---- while it blows

    def blow(self) -> None:
        began = time.monotonic()
        while (passed := time.monotonic() - began) < SECONDS:
            due = int(JOBS * min(1, passed / SECONDS / 0.9)) - (JOBS - len(self.crowd.fresh))
            self.crowd.submit(max(0, due))
            with contextlib.suppress(KubeError, RedisError):  # Redis takes no writes for a while
                self.step()
            self.common.due()
            self.crowd.look(self.look())
            time.sleep(self.chance.random() * 0.3)
        self.crowd.submit(JOBS)

    def step(self) -> None:
        common, faults, spells = self.common, self.faults, Spells(self.common)
        weights: dict[Callable[[], object], float] = {
            self.breathe: 30, faults.lose_messages: 4, faults.double_messages: 8, faults.send_all_again: 3,
            faults.shrink: 4, faults.renew: 2, faults.kill_node: 3, self.lose_pods: 3,
            common.kill_worker: 2, common.kill_workers: 1, common.pause_worker: 1, common.kill_beat: 0.5,
            common.kill_publisher: 0.3 * LONG, self.restart_redis: 1, self.flush_redis: 1, spells.refuse_writes: 1,
            spells.fill: 1, spells.change_history: 1, spells.move_redis_clock: 1, spells.move_clock: 3,
            spells.send_odd_message: 4,
        }  # fmt: skip
        chosen = self.chance.choices(list(weights), list(weights.values()))[0]
        self.happened[chosen.__name__] += 1
        chosen()

    def breathe(self) -> None:
        """Nothing happens."""

    def lose_pods(self) -> None:
        """What they did before a loss of Redis, and could not tell again since, is known to nobody."""
        alive, effects = self.nodes.running(), self.diary.effects[: self.known]
        self.faults.lose_pods()
        lost, books = alive.keys() - self.nodes.running().keys(), read(self.redis, PREFIX)
        open_jobs = {job for job in self.crowd.wanted if books.jobs.get(job, {}).get("s") != "done"}
        self.forgotten(run.attempt for run in effects if run.uid in lost and run.job in open_jobs)

    def restart_redis(self) -> None:
        """Its last second of writes may be gone."""
        self.common.restart_redis()
        self.redis_lost()

    def flush_redis(self) -> None:
        self.common.flush_redis()
        self.redis_lost()

    def redis_lost(self) -> None:
        """What pods that are no more had done is known to nobody but the clients, and some of these have submitted it
        more than once: what of that is still on its way, starts it again.
        """
        self.diary.read()
        alive, self.known = self.nodes.running(), len(self.diary.effects)
        self.excused |= {run.attempt for run in self.diary.effects if run.uid not in alive}

    def forgotten(self, attempts: Iterable[str]) -> None:
        """These may be done again: nobody who lives knows that they took effect, unless a client has seen it."""
        self.diary.read()
        jobs = {run.attempt: run.job for run in self.diary.effects}
        self.excused |= {each for each in attempts if each in jobs and jobs[each] not in self.crowd.seen}

    # ---- what must be true at every look

    def look(self) -> SlotBooks:
        self.diary.read()
        before = dict(self.diary.running)
        books = read(self.redis, PREFIX)
        self.diary.read()
        lasting = [before[attempt] for attempt in before.keys() & self.diary.running.keys()]
        self.looks, self.busiest = self.looks + 1, max(self.busiest, len(lasting))
        assert [*book_faults(books), *self.diary.faults, *self.nodes.faults, *fenced_with_work(books)] == []
        assert not books.verified or [run for run in lasting if not held(books, run.job, run.attempt)] == []
        return books

    # ---- afterwards

    def rest(self) -> None:
        self.common.calm()
        self.faults.grow()
        self.faults.send_all_again()
        eventually(self.all_seen, timeout=REST, every=0.3)
        self.faults.shrink_to_one()
        eventually(self.small_and_idle, timeout=REST, every=0.3)

    def all_seen(self) -> bool:
        self.crowd.look(self.look())
        left = set(self.crowd.wanted) - self.crowd.seen.keys()
        assert not left, f"{len(left)} jobs have not ended, such as {sorted(left)[:5]}"
        return True

    def small_and_idle(self) -> bool:
        books = self.look()
        assert (books.count("used"), books.count("reserved")) == (0, 0)
        assert len(books.pods) <= 1, f"{len(books.pods)} pods are left"
        return True

    def check(self) -> None:
        effects = self.diary.effects_of()
        for job, outcome in self.crowd.seen.items():
            phases = self.crowd.wanted[job].request.phases
            runs = effects.get(f"{job} {phases[-1]}", [])
            assert len([run for run in runs if run.attempt not in self.excused]) <= 1, (
                f"{job} took effect twice: {runs}"
            )
            assert runs or outcome != "succeeded", f"{job} succeeded without an effect"
            assert outcome in self.possible(job), f"{job} {phases}: {outcome}"
        self.system.stack.check()
        assert self.system.failures() == []

    def possible(self, job: str) -> set[str]:
        wish = self.crowd.wanted[job]
        may_be_lost = len(wish.request.phases) > 1 or wish.request.when_lost == "fail"
        return {"succeeded", *(["cancelled"] if wish.cancel else []), *(["lost"] if may_be_lost else [])}

    def twice(self) -> int:
        """Jobs that took effect again because nobody who lived knew of the first time."""
        ends = {f"{job} {wish.request.phases[-1]}" for job, wish in self.crowd.wanted.items()}
        return sum(len(runs) > 1 for what, runs in self.diary.effects_of().items() if what in ends)

    def told(self) -> str:
        took = time.monotonic() - self.began
        return (
            f"seed {SEED}: {JOBS} jobs in {took:.0f} s, {PODS} pods (most {self.nodes.most}), {dict(self.happened)}; "
            f"looks {self.looks}, most jobs at once {self.busiest}, starts {self.diary.starts.total()}, "
            f"twice {self.twice()}, submitted again {self.crowd.again}, outcomes {dict(self.crowd.outcomes())}"
        )


def fenced_with_work(books: SlotBooks) -> list[str]:
    return [f"{uid} is fenced with work" for uid, pod in books.pods.items() if pod["v"] == "fenced" and any(pod["s"])]


def held(books: SlotBooks, job: str, attempt: str) -> bool:
    """A slot is used by it."""
    record: Any = books.jobs.get(job)
    return bool(record) and record["a"] == attempt and record["s"] in HOLDING


@pytest.mark.row("SL-04", "SL-11", "SL-13", "SL-28", "SL-29", "SL-31", "SD-01", "SD-03")
@pytest.mark.timeout(SECONDS + 2 * REST + 200)
def test_after_a_storm_every_job_was_done_and_took_effect_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path / "stack", "sandbox", monkeypatch, {"BERTHMASTER_SLOTS__SILENCE": "40s"}) as system:
        url, light = system.stack.redis.url, -(-PODS // PODS_A_NODE) + 1
        with RunnerNodes(system.api, POOL, tmp_path, url, light, REAL) as nodes, Fleet(url) as fleet:
            storm = JobStorm(system, nodes, fleet, tmp_path)
            try:
                storm.prepare()
                storm.blow()
                storm.rest()
                storm.check()
            except AssertionError as error:
                raise AssertionError(f"{storm.told()}: {error}") from error
            finally:
                storm.redis.close()
            print(storm.told())  # noqa: T201 - the figures of a long one, with -s
