"""Keys of our labels, annotations, conditions and finalizers in Kubernetes.

Each key is defined here once, and its constant has its name. docs/ports.md and docs/claims.md say what people may
write.
"""

from __future__ import annotations

from typing import Final

GROUP: Final = "berthmaster.dev"
PREFIX: Final = GROUP + "/"

# ---- ports: annotations of a pod

PORTS: Final = PREFIX + "ports"  # what the pod asks for
PORTS_ENABLED: Final = PREFIX + "ports-enabled"
PORTS_RETAIN: Final = PREFIX + "ports-retain"
SAME_PORT: Final = PREFIX + "same-port-across-pools"
CERTIFICATE: Final = PREFIX + "certificate-arn"
ENDPOINTS: Final = PREFIX + "endpoints"  # what we answer
PORTS_STATE: Final = PREFIX + "ports-state"
PORTS_MESSAGE: Final = PREFIX + "ports-message"
PORTS_BOUND: Final = PREFIX + "ports-bound"  # a condition of the pod, and the readiness gate that waits for it

PORT_POOL_FINALIZER: Final = PREFIX + "port-pool"

# ---- pod pools: labels of a pod

POOL: Final = PREFIX + "pool"
REVISION: Final = PREFIX + "revision"  # what the pod is made from
PHASE: Final = PREFIX + "phase"  # see domain.claims.pod.Phase
PROTECTED: Final = PREFIX + "protected"  # `true`: the pod has work, and its pool's budget selects it

# annotations of a pod

RUNNER: Final = PREFIX + "runner"  # `none`: the pod runs no jobs
RUNNER_TOKEN: Final = PREFIX + "runner-token"  # which token the pod has
OPENED: Final = PREFIX + "opened"  # token of the run that opened the pod for jobs and claims
CORDON: Final = PREFIX + "cordon"  # `true`: nothing new on this pod
PROTECTED_BY: Final = PREFIX + "protected-by"  # keys of the annotations that we have set to protect the pod
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"  # as ReplicaSets have it

# ---- claims: labels of a pod

CLAIMED_BY: Final = PREFIX + "claimed-by"  # UID of the claim
OWNER: Final = PREFIX + "owner"
LAST_OWNER: Final = PREFIX + "last-owner"  # of a pod that a claim gave back
CLAIM_SET: Final = PREFIX + "claimset"  # UID of the set; a claim has this label as well

# annotations of a pod

ADDED_LABELS: Final = PREFIX + "added-labels"  # JSON: labels that its claim set -> before, or null
ADDED_ANNOTATIONS: Final = PREFIX + "added-annotations"  # JSON: annotations that its claim set -> null
TOUCHED: Final = PREFIX + "touched"  # a claim relies on this pod: what was decided before conflicts
GIVEN_BACK: Final = PREFIX + "given-back"  # `ID TIME` of its drain
DRAIN: Final = PREFIX + "drain"  # the id of a drain, once its sessions may be counted
SESSIONS: Final = PREFIX + "sessions"  # the workload writes it: `NUMBER ID`

# annotations of a claim

BOUND_AT: Final = PREFIX + "bound-at"  # since when it has the pod that it names, or had last
TARGET_TAKEN: Final = PREFIX + "target-taken"  # `SOURCE TARGET`: its move has the target
RENEWAL: Final = PREFIX + "renewal"  # its owner writes any new text: the claim lives for its ttl from now on
REQUESTED: Final = PREFIX + "requested"  # ids of the calls that asked for it by a task, or `true` for any
SPARED: Final = PREFIX + "spared"  # the version in which a set let the claim live that it was to remove

TEMPLATE_HASH: Final = PREFIX + "template-hash"  # a label of a claim: which template of its set it is made from
CLAIM_FINALIZER: Final = PREFIX + "claim"
