"""The rows of panels of each dashboard, with their queries. scripts/dashboards.py makes Grafana's JSON of them.

Every worker exports the same state, so its gauges are joined by `max` over all workers; counters are joined by `sum`.
"""

from __future__ import annotations

from typing import Final

from scripts.dashboard_parts import POOL, Board, Panel, gauge, quantile, rate, rose, stat
from scripts.dashboard_pods import CLAIMS, PODS

WAITING: Final = 'state="waiting"'
IN_EACH_INTERVAL: Final = "How many in each interval"


OVERVIEW: Final = Board(
    "Berthmaster / Overview",
    (
        (
            "Now",
            (
                stat("Publisher stamped", gauge("berthmaster_publisher_stamped", ""), "1: workers may take keys"),
                stat("Redis answers", "min(berthmaster_state_readable)", "0: at least one worker cannot read it"),
                stat("Pods without ports", f"sum({gauge('berthmaster_waiting_pods', 'pool, reason')})"),
                stat("Oldest ready key", gauge("berthmaster_queue_oldest_seconds", ""), unit="s"),
                stat("Jobs that wait", f"sum({gauge('berthmaster_jobs', 'pool', WAITING)})"),
                stat("Drift", f"sum({gauge('berthmaster_drift', 'pool, kind')})", "Differences of the last audits"),
            ),
        ),
        (
            "Work",
            (
                Panel(
                    "Runs", ((rate("berthmaster_reconciles_total", "kind, outcome"), "{{kind}} {{outcome}}"),), "ops"
                ),
                Panel(
                    "Duration of a run, p99",
                    ((quantile(0.99, "berthmaster_reconcile_seconds", "kind"), "{{kind}}"),),
                    "s",
                ),
                Panel("Keys of the workqueue", ((gauge("berthmaster_queue_keys", "state"), "{{state}}"),)),
                Panel(
                    "AWS calls refused",
                    ((rate("berthmaster_aws_calls_total", "code", 'result!="ok"'), "{{code}}"),),
                    "ops",
                ),
            ),
        ),
        (
            "Pools",
            (
                Panel(
                    "Ports",
                    ((f"sum by (state) ({gauge('berthmaster_ports', 'pool, state')})", "{{state}}"),),
                    stacked=True,
                ),
                Panel(
                    "Slots",
                    ((f"sum by (state) ({gauge('berthmaster_slots', 'pool, state')})", "{{state}}"),),
                    stacked=True,
                ),
            ),
        ),
    ),
)

PORTS: Final = Board(
    "Berthmaster / Ports",
    (
        (
            "State",
            (
                Panel("Ports", ((gauge("berthmaster_ports", "pool, state", POOL), "{{pool}} {{state}}"),)),
                Panel(
                    "Pods that wait",
                    ((gauge("berthmaster_waiting_pods", "pool, reason", POOL), "{{pool}} {{reason}}"),),
                    text="For ports that the pool does not have, or for their namespace's share",
                ),
                Panel(
                    "Load balancers",
                    ((gauge("berthmaster_load_balancers", "pool, state", POOL), "{{pool}} {{state}}"),),
                ),
                Panel("Capacity epoch", ((gauge("berthmaster_epoch", "pool", POOL), "{{pool}}"),)),
            ),
        ),
        (
            "Allocation and growth",
            (
                Panel(
                    "Requests for ports, by answer",
                    ((rate("berthmaster_allocations_total", "pool, answer", POOL), "{{pool}} {{answer}}"),),
                    "ops",
                    text="granted; full: the pool must grow; capped: the namespace has its share; closed: not active",
                ),
                Panel(
                    "Scale-ups, by outcome",
                    ((rose("berthmaster_scale_ups_total", "pool, outcome", POOL), "{{pool}} {{outcome}}"),),
                    text=IN_EACH_INTERVAL,
                ),
                Panel("Scale-up open", ((gauge("berthmaster_scale_up_open", "pool", POOL), "{{pool}}"),)),
                Panel(
                    "Load balancers removed",
                    ((rose("berthmaster_load_balancers_removed_total", "pool", POOL), "{{pool}}"),),
                    text=IN_EACH_INTERVAL,
                ),
            ),
        ),
        (
            "Repair",
            (
                Panel("Drift, by kind", ((gauge("berthmaster_drift", "pool, kind", POOL), "{{pool}} {{kind}}"),)),
                Panel(
                    "Collisions and orphans",
                    (
                        (rose("berthmaster_collisions_total", "pool, outcome", POOL), "{{pool}} collision {{outcome}}"),
                        (rose("berthmaster_orphans_total", "pool", POOL), "{{pool}} orphans removed"),
                    ),
                    text=IN_EACH_INTERVAL,
                ),
                Panel(
                    "Ledger verified",
                    ((gauge("berthmaster_ledger_verified", "pool", POOL), "{{pool}}"),),
                    text="0: it is being rebuilt, and grants nothing meanwhile",
                ),
            ),
        ),
    ),
    ("pool", "berthmaster_ports"),
)
AWS: Final = Board(
    "Berthmaster / AWS",
    (
        (
            "Calls",
            (
                Panel("Calls", ((rate("berthmaster_aws_calls_total", "action"), "{{action}}"),), "ops"),
                Panel(
                    "Errors, by action and code",
                    ((rate("berthmaster_aws_calls_total", "action, code", 'result!="ok"'), "{{action}} {{code}}"),),
                    "ops",
                ),
                Panel(
                    "Throttled",
                    ((rate("berthmaster_aws_calls_total", "action", 'result="throttled"'), "{{action}}"),),
                    "ops",
                    text="If this is not 0, the rates of BERTHMASTER_AWS__RATES are above those of the account",
                ),
                Panel("Latency, p99", ((quantile(0.99, "berthmaster_aws_call_seconds", "action"), "{{action}}"),), "s"),
            ),
        ),
        (
            "Our own budget",
            (
                Panel(
                    "Calls that found no token",
                    ((rate("berthmaster_aws_budget_waits_total", "api_class, outcome"), "{{api_class}} {{outcome}}"),),
                    "ops",
                    text="slept: within the call; deferred: to a later run",
                ),
            ),
        ),
    ),
)
QUEUE: Final = Board(
    "Berthmaster / Queue and publisher",
    (
        (
            "Publisher",
            (
                Panel("Lease held", (("sum(berthmaster_publisher_lease_held)", "publishers that hold it"),)),
                Panel(
                    "Age of events on their way to Redis",
                    ((gauge("berthmaster_publisher_lag_seconds", "resource"), "{{resource}}"),),
                    "s",
                ),
                Panel(
                    "Since a stream showed that it lives",
                    ((gauge("berthmaster_publisher_stream_age_seconds", "resource"), "{{resource}}"),),
                    "s",
                ),
                Panel(
                    "Events",
                    (
                        (rate("berthmaster_publisher_events_received_total", "resource"), "{{resource}} received"),
                        (rate("berthmaster_publisher_events_published_total", "resource"), "{{resource}} published"),
                    ),
                    "ops",
                ),
                Panel(
                    "Lists, by reason",
                    ((rate("berthmaster_publisher_relists_total", "resource, reason"), "{{resource}} {{reason}}"),),
                    "ops",
                ),
                Panel(
                    "Arrival to Redis, p99",
                    ((quantile(0.99, "berthmaster_publisher_publish_seconds", "resource"), "{{resource}}"),),
                    "s",
                ),
            ),
        ),
        (
            "Workqueue",
            (
                Panel("Keys, by state", ((gauge("berthmaster_queue_keys", "state"), "{{state}}"),)),
                Panel("Oldest ready key", ((gauge("berthmaster_queue_oldest_seconds", ""), "seconds"),), "s"),
                Panel("Messages of the broker", ((gauge("berthmaster_broker_messages", "queue"), "{{queue}}"),)),
                Panel(
                    "Runs", ((rate("berthmaster_reconciles_total", "kind, outcome"), "{{kind}} {{outcome}}"),), "ops"
                ),
                Panel(
                    "Keys and hints not taken, by reason",
                    ((rate("berthmaster_takes_refused_total", "kind, reason"), "{{kind}} {{reason}}"),),
                    "ops",
                ),
                Panel("Ticks", ((rate("berthmaster_ticks_total", "task, outcome"), "{{task}} {{outcome}}"),), "ops"),
                Panel("Last tick, by task", ((gauge("berthmaster_tick_age_seconds", "task"), "{{task}}"),), "s"),
                Panel(
                    "Refused and unsent",
                    (
                        (rose("berthmaster_payloads_refused_total", "task"), "payload of {{task}}"),
                        (rose("berthmaster_messages_refused_total", "reason"), "{{reason}} message"),
                        (rose("berthmaster_tasks_unsent_total", "task"), "{{task}} unsent"),
                    ),
                    text=IN_EACH_INTERVAL,
                ),
            ),
        ),
    ),
)
BOARDS: Final = {"overview": OVERVIEW, "ports": PORTS, "pod-pools": PODS, "claims": CLAIMS, "aws": AWS, "queue": QUEUE}
