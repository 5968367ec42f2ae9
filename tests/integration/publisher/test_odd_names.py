"""Labels and owner references that name no object: they make no key, and are said once; the others are not delayed."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from berthmaster import routing
from tests.support.pods.pods import pod
from tests.support.servers.publishing import IdleWorker, publishing
from tests.support.servers.scripted_watch import POOL_PODS, Json, ScriptedApi
from tests.support.waiting import eventually

CLAIMS = "/apis/berthmaster.dev/v1alpha1/podclaims"
LABEL = "berthmaster.dev/pool"
ODD = ("Not_A_Name", "", "-", "a.b_c", "A" * 63, "é", "a/b/c", "..")
LAST = "podpool/games/last"
LAST_SET = "podclaimset/games/last"


def labelled(number: int, pool: str) -> Json:
    return pod(f"p-{number}", ports=None, labels={LABEL: pool})


def claim(number: int, owner: str) -> Json:
    owners = [{"kind": "PodClaimSet", "name": owner, "uid": "u", "apiVersion": "berthmaster.dev/v1alpha1"}]
    meta = {"name": f"c-{number}", "namespace": "games", "uid": f"uid-{number}", "ownerReferences": owners}
    return {"metadata": meta, "kind": "PodClaim", "apiVersion": "berthmaster.dev/v1alpha1", "spec": {}}


@pytest.mark.row("HO-02")
def test_a_name_that_is_none_makes_no_key_and_is_said_once(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    """In a list, and in events after it, again and again."""
    api.kinds.add(CLAIMS)
    for n, name in enumerate(ODD):
        api.world.put(POOL_PODS, labelled(n, name))
        api.world.put(CLAIMS, claim(n, name))
    with capture_logs() as lines, publishing(api.url, redis_url) as running:
        for _ in range(3):
            for n, name in enumerate(ODD):
                api.world.put(POOL_PODS, labelled(n, name))
                api.world.put(CLAIMS, claim(n, name))
        api.world.put(POOL_PODS, labelled(100, "last"))
        api.world.put(CLAIMS, claim(100, "last"))
        eventually(lambda: {LAST, LAST_SET} <= set(worker.ready()))
        dropped = running.metric("events_dropped_total", resource="poolpods", reason="no_name")
    assert [key for key in worker.ready() if not routing.is_key(key)] == []
    assert dropped >= len(ODD)
    said = [(line["what"], line["of"]) for line in lines if line["event"] == "name_refused"]
    assert sorted(set(said)) == sorted(said)
    assert {of for _, of in said} == {f"{kind} games/{x}-{n}" for kind, x in KINDS for n in range(len(ODD))}


KINDS = (("pod", "p"), ("claim", "c"))
