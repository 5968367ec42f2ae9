"""Tells claims which pods of a pool they may have, and what its pods are made from at present."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from domain.claims.labels import LAST_OWNER
from domain.claims.pod import ClaimablePod
from domain.scaling.members import Member, claimable
from events.claim_index import concerned
from workers.podpools.observe import Seen
from workers.run import Run
from workers.stores.slots.claimable import keep_claimable, tell_revision
from workers.stores.slots.ledger import SlotLedger


def offer(run: Run, ledger: SlotLedger, seen: Seen, revision: str) -> None:
    """Whoever has a pod looks at it again when a new template makes it outdated."""
    pool = ledger.pool.rpartition("/")[2]
    pods = [_claimable(m, seen.objects[m.uid], pool) for m in seen.members if claimable(m, revision)]
    if keep_claimable(ledger, run.token, revision, pods) != revision:
        run.touch(concerned(ledger.redis, [seen.objects[m.uid] for m in seen.members if m.claimed_by]))
        tell_revision(ledger, revision)


def _claimable(member: Member, pod: dict[str, Any], pool: str) -> ClaimablePod:
    meta = pod["metadata"]
    labels = meta.get("labels") or {}
    return ClaimablePod(
        name=member.name,
        uid=member.uid,
        pool=pool,
        revision=member.revision,
        phase=member.stage,
        created=datetime.fromisoformat(meta["creationTimestamp"]),
        last_owner=labels.get(LAST_OWNER, ""),
        labels=labels,
    )
