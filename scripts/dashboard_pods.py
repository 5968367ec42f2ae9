"""The dashboards of pods: pod pools with slots and jobs, and claims of whole pods."""

from __future__ import annotations

from typing import Final

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from scripts.dashboard_parts import POOL, Board, Panel, gauge, quantile, rate, rose

SPACE: Final = 'namespace=~"$namespace"'
WARM: Final = 'pool=~"($namespace)/.*"'  # a pool of pods is called NAMESPACE/NAME
OF_CLAIMS: Final = f'kind=~"{POD_CLAIM.prefix}|{POD_CLAIM_SET.prefix}"'
ALL_SLOTS: Final = gauge("berthmaster_slots", "pool, state", POOL)
BUSY_SLOTS: Final = gauge("berthmaster_slots", "pool, state", f'{POOL}, state=~"running|reserved"')
PODS: Final = Board(
    "Berthmaster / Pod pools, slots and jobs",
    (
        (
            "Slots and jobs",
            (
                Panel("Slots", ((gauge("berthmaster_slots", "pool, state", POOL), "{{pool}} {{state}}"),)),
                Panel("Jobs", ((gauge("berthmaster_jobs", "pool, state", POOL), "{{pool}} {{state}}"),)),
                Panel(
                    "Share of slots in use",
                    (
                        (
                            f"sum by (pool) ({BUSY_SLOTS}) / sum by (pool) ({ALL_SLOTS})",
                            "{{pool}}",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Jobs over their time, by limit",
                    ((rose("berthmaster_jobs_over_time_total", "pool, limit", POOL), "{{pool}} {{limit}}"),),
                    text="How many in each interval",
                ),
            ),
        ),
        (
            "Size",
            (
                Panel(
                    "Pods",
                    (
                        (gauge("berthmaster_pool_pods", "pool, view", POOL), "{{pool}} {{view}}"),
                        (gauge("berthmaster_pool_size", "pool", POOL), "{{pool}} wanted"),
                    ),
                ),
                Panel(
                    "Decisions, by move",
                    ((rate("berthmaster_scaling_decisions_total", "pool, move", POOL), "{{pool}} {{move}}"),),
                    "ops",
                ),
            ),
        ),
    ),
    ("pool", "berthmaster_slots"),
)

CLAIMS: Final = Board(
    "Berthmaster / Claims",
    (
        (
            "Claims",
            (
                Panel(
                    "By phase",
                    ((gauge("berthmaster_claims", "namespace, phase", SPACE), "{{namespace}} {{phase}}"),),
                    text="Pending: no pod yet; Outdated: on a pod of an older template; Lost: its pod is gone",
                ),
                Panel(
                    "Runs of claims and sets",
                    ((rate("berthmaster_reconciles_total", "kind, outcome", OF_CLAIMS), "{{kind}} {{outcome}}"),),
                    "ops",
                ),
                Panel(
                    "Duration of a run, p99",
                    ((quantile(0.99, "berthmaster_reconcile_seconds", "kind", OF_CLAIMS), "{{kind}}"),),
                    "s",
                ),
            ),
        ),
        (
            "Pods that they may have",
            (
                Panel("Pods, by view", ((gauge("berthmaster_pool_pods", "pool, view", WARM), "{{pool}} {{view}}"),)),
                Panel("Pods wanted", ((gauge("berthmaster_pool_size", "pool", WARM), "{{pool}}"),)),
            ),
        ),
    ),
    ("namespace", "berthmaster_claims"),
)
