"""A storm of claims: tenants come, go and move, sets grow and shrink, pods die, workers and Redis die, watches lie.

At every version of the server no pod has two claims and none is deleted under its claim; in the end every claim that
can be bound is bound, and what is deleted is gone.

On the real API server watches are only cut short, by compactions.

BERTHMASTER_CHAOS_CLAIMS and _PODS are how many, BERTHMASTER_CHAOS_SECONDS how long it blows, _SEED repeats one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from compose.sandbox.kube.apply import apply
from compose.sandbox.workload import NAMESPACE
from events.kube.api import KubeError
from tests.support.claims.claim_crowd import API, ROOT, ClaimCrowd, workload
from tests.support.claims.claim_history import ClaimHistory, Judge, phase_of, settled_on
from tests.support.faults.spell_faults import Spells
from tests.support.faults.storm_faults import Faults
from tests.support.servers.whole import Whole, running
from tests.support.waiting import eventually

SECONDS = float(os.environ.get("BERTHMASTER_CHAOS_SECONDS", "15"))
CLAIMS = int(os.environ.get("BERTHMASTER_CHAOS_CLAIMS", "30"))
PODS = int(os.environ.get("BERTHMASTER_CHAOS_PODS", "18"))
SEED = int(os.environ.get("BERTHMASTER_CHAOS_SEED", "0")) or Random().randrange(1, 10**6)
REST = 90.0 + CLAIMS / 3
LONG = SECONDS > 60
"""A publisher that is killed costs its Lease's 15 seconds."""
SETS = ("red", "blue")
POOL_PATH = f"{ROOT}/{NAMESPACE}/podpools"
Json = dict[str, Any]


class ClaimStorm:
    def __init__(self, system: Whole, directory: Path) -> None:
        self.system, self.chance = system, Random(SEED)
        self.crowd = ClaimCrowd(system.api, NAMESPACE, "warm", self.chance)
        self.faults = Faults(system, self.chance, directory)
        self.happened: Counter[str] = Counter()
        self.began = time.monotonic()

    def prepare(self) -> None:
        apply(self.system.api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        spec = {
            "template": template(0), "slots": [], "maxIdle": PODS // 3, "maxReplicas": PODS,
            "claims": {"allowedPodLabels": ["tenant"]},
            "minDrain": "1s", "drainTimeout": "4s", "scaling": {"downCooldown": "0s", "step": 20},
        }  # fmt: skip
        self.system.api.create(
            POOL_PATH, {"apiVersion": API, "kind": "PodPool", "metadata": {"name": "warm"}, "spec": spec}
        )
        eventually(lambda: sum(phase_of(pod) == "Idle" for pod in self.crowd.pods()) >= PODS // 3, 60, every=0.2)
        for name in SETS:
            self.crowd.make_set(name, CLAIMS // 10)
        self.crowd.make(CLAIMS // 3)

    # ---- while it blows

    def blow(self) -> None:
        began = time.monotonic()
        while time.monotonic() - began < SECONDS:
            with contextlib.suppress(KubeError):
                self.step()
            self.faults.due()
            time.sleep(self.chance.random() * 0.2)

    def step(self) -> None:
        crowd, faults, full = self.crowd, self.faults, len(self.crowd.claims()) >= CLAIMS
        spells = Spells(faults)
        weights: dict[Callable[[], object], float] = {
            self.make: 0 if full else 20, crowd.delete: 12, crowd.move: 14, self.scale: 5,
            crowd.kill_pod: 4, crowd.fail_pod: 2, self.resize: 3, self.renew: 1,
            faults.trouble_kube: 5, faults.kill_worker: 1, faults.kill_workers: 0.5, faults.pause_worker: 1,
            faults.kill_beat: 0.5, faults.kill_publisher: 0.1 * LONG, faults.restart_redis: 0.5,
            faults.flush_redis: 0.4, spells.refuse_writes: 0.7, spells.fill: 0.7, spells.change_history: 0.5,
            spells.move_redis_clock: 0.5, spells.move_clock: 2, spells.send_odd_message: 3,
        }  # fmt: skip
        chosen = self.chance.choices(list(weights), list(weights.values()))[0]
        self.happened[chosen.__name__] += 1
        chosen()

    def make(self) -> None:
        self.crowd.make(1 + CLAIMS // 30)

    def scale(self) -> None:
        self.crowd.scale(self.chance.choice(SETS), self.chance.randrange(CLAIMS // 5 + 1))

    def resize(self) -> None:
        self._change(maxIdle=self.chance.randrange(1, PODS // 2), maxReplicas=PODS - self.chance.randrange(PODS // 4))

    def renew(self) -> None:
        """Pods of the old template are replaced once nobody has them."""
        self._change(template=template(self.chance.randrange(3)))

    def _change(self, **spec: Any) -> None:
        self.system.api.patch(f"{POOL_PATH}/warm", {"spec": spec})

    # ---- afterwards

    def rest(self) -> None:
        self.faults.calm()
        self._change(maxIdle=2, maxReplicas=PODS)
        eventually(self.all_served, timeout=REST, every=0.5)
        self.crowd.delete_all()
        eventually(self.all_gone, timeout=REST, every=0.5)

    def all_served(self) -> bool:
        """I6: as many are bound as there may be pods, and nobody moves any more."""
        claims, pods = self.crowd.claims(), self.crowd.pods()
        moving = [name_of(claim) for claim in claims if "sourcePod" in claim["spec"]]
        assert moving == []
        bound = {settled_on(claim) for claim in claims} - {""}
        held = {name_of(pod) for pod in pods if phase_of(pod) == "Bound"}
        assert bound == held, f"named and not held {sorted(bound - held)}, held and not named {sorted(held - bound)}"
        waiting = [name_of(claim) for claim in claims if not settled_on(claim)]
        assert len(bound) == PODS or not waiting, f"{len(bound)} of {PODS} pods are bound, and {waiting[:5]} wait"
        for name in SETS:
            self.set_is_whole(name, claims)
        return True

    def set_is_whole(self, name: str, claims: list[Json]) -> None:
        wanted = self.system.api.get(f"{self.crowd.sets_path}/{name}")["spec"]["replicas"]
        there = [c for c in claims if (c["metadata"].get("labels") or {}).get("set") == name]
        live = [c for c in there if "deletionTimestamp" not in c["metadata"]]
        assert len(live) >= wanted, f"set {name} has {len(live)} claims of {wanted}"
        assert len(live) <= wanted + 1, f"set {name} has {len(live)} claims, more than {wanted} and a surge"

    def all_gone(self) -> bool:
        """No finalizer is stuck, and what was given back is idle again, or gone."""
        assert [name_of(claim) for claim in self.crowd.claims()] == []
        phases = Counter(map(phase_of, self.crowd.pods()))
        assert phases == Counter({"Idle": 2}), f"left over: {phases}"
        return True

    def told(self) -> str:
        took = time.monotonic() - self.began
        return f"seed {SEED}: {self.crowd.made} claims on {PODS} pods in {took:.0f} s, {dict(self.happened)}"


def template(revision: int) -> Json:
    containers = [{"name": "db", "image": f"db:{revision}"}]
    return {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": containers}}


def name_of(body: Json) -> str:
    return str(body["metadata"]["name"])


@pytest.mark.row("WC-02", "WC-03", "WC-19", "WC-28", "EV-23")
@pytest.mark.timeout(SECONDS + 2 * REST + 200)
def test_after_a_storm_every_claim_that_can_be_bound_is_bound(
    kube_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path / "stack", kube_kind, monkeypatch) as system:
        storm = ClaimStorm(system, tmp_path)
        with ClaimHistory(system.api, NAMESPACE) as history, workload(system.api, NAMESPACE, Random(SEED)):
            try:
                storm.prepare()
                storm.blow()
                storm.rest()
            except AssertionError as error:
                raise AssertionError(f"{storm.told()}: {error}") from error
            finally:
                judge = Judge(storm.crowd.killed)
                found = judge.judge(history.versions())
            assert found == [], storm.told()
            assert history.missed == 0
        system.stack.check()
        assert system.failures() == []
        print(storm.told(), dict(judge.seen))  # noqa: T201 - the figures of a long one, with -s
