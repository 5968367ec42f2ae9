"""Tells claims which pods of a pool they may have, and what its pods are made from at present."""

from __future__ import annotations

from berthmaster.jobs.slot_ledger import SlotLedger
from domain.pod_pools.pod_steps import claimable
from events.protocol.claim_index import concerned
from workers.kube.claimable_pods import claimable as as_claimable
from workers.pod_pools.observe import Seen
from workers.run import Run
from workers.stores.slots.claimable import keep_claimable, tell_revision


def offer(run: Run, ledger: SlotLedger, seen: Seen, revision: str) -> None:
    """Whoever has a pod looks at it again when a new template makes it outdated."""
    pods = [as_claimable(seen.objects[m.uid], seen.now) for m in seen.members if claimable(m, revision)]
    if keep_claimable(ledger, run.token, revision, pods) != revision:
        run.touch(concerned(ledger.redis, [seen.objects[m.uid] for m in seen.members if m.claimed_by]))
        tell_revision(ledger, revision)
