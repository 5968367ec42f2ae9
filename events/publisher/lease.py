"""The Kubernetes Lease that makes one publisher of several the active one. Its number fences the publisher's marks.

Every write carries the resource version that was read, so two candidates cannot both succeed. A candidate judges a
silent holder by its own clock, from its last read of a changed Lease; it never compares the clocks of two machines. The
number of changes of holder grows while the Lease exists, and starts again when somebody deletes the Lease by hand.
Therefore an epoch also has the holder's identity, and a holder outbids a number that Redis remembers.
"""

from __future__ import annotations

import time
from threading import RLock
from typing import Final

from domain.kubernetes.objects import KubeObject, body_of, new_object
from events.kube.api import Conflict, Json, KubeApi, NotFound, path_of
from events.settings import LeaseSettings

GROUP: Final = "/apis/coordination.k8s.io/v1"
LOOKS: Final = 3


class Lease:
    """Safe to share between threads. `identity` must be unique to this process: a restarted one is another holder."""

    def __init__(self, kube: KubeApi, settings: LeaseSettings, identity: str) -> None:
        self.kube, self.settings, self.identity = kube, settings, identity
        self.collection = path_of(GROUP, "namespaces", settings.namespace, "leases")
        self.path = path_of(self.collection, settings.name)
        self.number = 0
        self.until = 0.0  # on the monotonic clock: how long we may publish
        self.last_version, self.changed_at = "", 0.0  # the last version of the Lease that we read, and since when
        self.lock = RLock()

    @property
    def held(self) -> bool:
        """Whether we may publish, by our own clock: a Lease that has ended needs no answer of the API."""
        return time.monotonic() < self.until

    def try_acquire(self) -> bool:
        """Acquire the Lease if it has no holder, or a holder that was silent for its duration. Raises KubeError."""
        with self.lock:
            started = time.monotonic()
            lease = self.read()
            if lease is None:
                return self.create(started)
            return self.free(lease, started) and self.write(lease, transitions(lease) + 1, started)

    def renew(self) -> bool:
        """Renew the Lease. False: another holds it, or it was deleted. Raises KubeError if the API does not answer."""
        return self.rewrite()

    def outbid(self, number: int) -> bool:
        """Raise our number above one that Redis remembers from before the Lease was deleted. False as in `renew`."""
        return self.rewrite(above=number)

    def release(self) -> None:
        """Release the Lease, so that another candidate acquires it at its next try. Raises KubeError."""
        with self.lock:
            lease = self.read() if self.held else None
            self.until = 0.0
            if lease and self.mine(lease):
                given_back = {**lease["spec"], "holderIdentity": "", "renewTime": self.now()}
                self.kube.replace(self.path, {**lease, "spec": given_back})

    def create(self, started: float) -> bool:
        """Create the Lease with us as its holder. False: another candidate was faster."""
        metadata = {"name": self.settings.name, "namespace": self.settings.namespace}
        try:
            self.adopt(self.kube.create(self.collection, self.body(body_of(metadata), 0)), started)
        except Conflict:
            return False
        return True

    def free(self, lease: Json, now: float) -> bool:
        """Return whether we may acquire it: no holder, ourselves, or a holder silent too long. `now`: monotonic."""
        spec, version = lease.get("spec") or {}, KubeObject(lease).resource_version
        if version != self.last_version:
            self.last_version, self.changed_at = version, now
        promised = float(spec.get("leaseDurationSeconds") or self.settings.duration.total_seconds())
        return spec.get("holderIdentity") in (None, "", self.identity) or now - self.changed_at >= promised

    def rewrite(self, above: int | None = None) -> bool:
        """Renew, with a higher number if `above` is set. A Conflict may come from a new label, so read again."""
        with self.lock:
            number = self.number if above is None else max(above, self.number) + 1
            for _ in range(LOOKS):
                started = time.monotonic()
                lease = self.read()
                if lease is None or not self.mine(lease):
                    break
                if self.write(lease, number, started):
                    return True
            self.until = 0.0
            return False

    def read(self) -> Json | None:
        """Return the Lease, None if it does not exist."""
        try:
            return self.kube.get(self.path)
        except NotFound:
            return None

    def mine(self, lease: Json) -> bool:
        """Return whether we are the holder that the Lease names, under our number."""
        spec = lease.get("spec") or {}
        return spec.get("holderIdentity") == self.identity and transitions(lease) == self.number

    def write(self, lease: Json, number: int, started: float) -> bool:
        """Replace the Lease with us as its holder. False: it has changed since it was read."""
        try:
            self.adopt(self.kube.replace(self.path, self.body(lease, number)), started)
        except Conflict:
            return False
        return True

    def adopt(self, lease: Json, started: float) -> None:
        """Record that we hold it, from before the request: other candidates count from after its effect."""
        self.number = transitions(lease)
        self.until = started + self.settings.renew_deadline.total_seconds()

    def body(self, lease: Json, number: int) -> Json:
        """Return `lease` with us as its holder; its resource version stays as the precondition."""
        spec = lease.get("spec") or {}
        since = spec["acquireTime"] if spec.get("holderIdentity") == self.identity else self.now()
        held = {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": round(self.settings.duration.total_seconds()),
            "leaseTransitions": number,
            "acquireTime": since,
            "renewTime": self.now(),
        }
        return new_object("coordination.k8s.io/v1", "Lease", KubeObject(lease).metadata, spec=held)

    def now(self) -> str:
        """Return the API server's time as a Kubernetes MicroTime, for people: no decision reads it."""
        return self.kube.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def transitions(lease: Json) -> int:
    """Return how often the Lease has changed its holder."""
    return int((lease.get("spec") or {}).get("leaseTransitions") or 0)
