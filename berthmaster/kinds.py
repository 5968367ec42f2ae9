"""The table of kinds: one row for each kind of object that Berthmaster follows and reconciles.

Whatever else lists kinds derives its list from here: the publisher's watches, keys and their tasks, the queues of these
tasks, permissions, and the definitions of our own kinds (domain/definitions.py). Whoever adds a kind adds a row and a
package, runs `make crds reference`, and `tests/unit/test_kinds.py` names what the row still lacks.

Runner pods import this module for the names of their queues, so it imports no models.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from berthmaster.names import NAME

GROUP: Final = "berthmaster.dev"
VERSION: Final = "v1alpha1"
CORE: Final = ""
"""The name of Kubernetes' core API group."""

Verbs = tuple[str, ...]


class ReadyClass(StrEnum):
    """A class of ready keys, in the order of priority. A key is served in the class of its kind, or as a slow one."""

    CLAIM = "claim"
    POOL = "pool"
    POD = "pod"
    SLOW = "slow"
    """Keys that nobody waits for: resyncs, audits and periodic touches."""


CYCLE: Final = (
    ReadyClass.CLAIM,
    ReadyClass.POD,
    ReadyClass.POOL,
    ReadyClass.POD,
    ReadyClass.CLAIM,
    ReadyClass.POD,
    ReadyClass.POOL,
    ReadyClass.SLOW,
)
"""The turns of the classes. A class without a ready key leaves its turn to the others, in the order of priority."""


class Projection(StrEnum):
    """What the publisher keeps of an object (events/publisher/resources.py)."""

    PORTS = "ports"
    """A pod that asks for ports: its annotations, addresses and readiness."""

    SPEC = "spec"
    """The whole spec of every object, without the status."""


@dataclass(frozen=True, eq=False, repr=False)
class ResourceKind:
    """A row of the table.

    `prefix` is the first part of its keys, `task` the Celery task that reconciles a key, `ready_class` the class of its
    ready keys. Workers also patch the status, whatever `worker_verbs` are.
    """

    name: str
    prefix: str
    plural: str
    task: str
    ready_class: ReadyClass
    worker_verbs: Verbs
    publisher_verbs: Verbs = ("list", "watch")
    projection: Projection = Projection.SPEC
    namespaced: bool = True
    group: str = GROUP
    version: str = VERSION

    def __repr__(self) -> str:
        return f"<ResourceKind {self.name}>"

    @property
    def api_version(self) -> str:
        """`group/version`, or `version` alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path of the kind's API version."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"

    @property
    def key_form(self) -> str:
        """The form of the kind's keys, as documents show it."""
        return f"{self.prefix}/NAMESPACE/NAME" if self.namespaced else f"{self.prefix}/NAME"

    @property
    def key_pattern(self) -> str:
        """A regular expression that matches the kind's keys."""
        return f"{self.prefix}/{NAME}/{NAME}" if self.namespaced else f"{self.prefix}/{NAME}"

    def key(self, *place: str) -> str:
        """Return the key of an object: its namespace, if the kind has namespaces, and its name."""
        return "/".join((self.prefix, *place))

    def collection(self, namespace: str = "") -> str:
        """Return the path of all objects of the kind, or of those in one namespace."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}" if namespace else f"{self.root}/{self.plural}"


POD: Final = ResourceKind(
    "Pod",
    prefix="pod",
    plural="pods",
    task="ports.reconcile",
    ready_class=ReadyClass.POD,
    worker_verbs=("get", "list", "patch"),
    projection=Projection.PORTS,
    group=CORE,
    version="v1",
)
PORT_POOL: Final = ResourceKind(
    "PortPool",
    prefix="portpool",
    plural="portpools",
    task="pools.reconcile",
    ready_class=ReadyClass.POOL,
    worker_verbs=("get", "list", "patch"),  # patch: the finalizer
    namespaced=False,
)
POD_POOL: Final = ResourceKind(
    "PodPool",
    prefix="podpool",
    plural="podpools",
    task="podpools.reconcile",
    ready_class=ReadyClass.POOL,
    worker_verbs=("get", "list"),
)
POD_CLAIM: Final = ResourceKind(
    "PodClaim",
    prefix="podclaim",
    plural="podclaims",
    task="claims.reconcile",
    ready_class=ReadyClass.CLAIM,
    worker_verbs=("get", "list", "create", "patch", "delete"),  # claim sets and requests of services
)
POD_CLAIM_SET: Final = ResourceKind(
    "PodClaimSet",
    prefix="podclaimset",
    plural="podclaimsets",
    task="claimsets.reconcile",
    ready_class=ReadyClass.CLAIM,
    worker_verbs=("get",),
)

KINDS: Final = (POD, PORT_POOL, POD_POOL, POD_CLAIM, POD_CLAIM_SET)
"""All kinds, in the order in which documents list them."""
OUR_KINDS: Final = tuple(kind for kind in KINDS if kind.group == GROUP)
"""The kinds that deploy/crds defines."""
BY_PREFIX: Final = {kind.prefix: kind for kind in KINDS}
