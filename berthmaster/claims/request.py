"""What services may ask of claims, by tasks. An error names the field; nothing is half done."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from berthmaster.forms import A_NAME, form
from berthmaster.jobs.payload import Payload
from berthmaster.jobs.submission import Pool
from berthmaster.names import SUBDOMAIN
from berthmaster.spec import Length

ClaimName = Annotated[str, StringConstraints(pattern=form(rf"^{SUBDOMAIN}$", A_NAME), max_length=253)]
FullName = Pool
CALL: Final = form("^[0-9A-Za-z-]{1,64}$", "1 to 64 letters, digits and '-'")
Call = Annotated[str, StringConstraints(pattern=CALL)]


class NewClaim(BaseModel):
    """A claim as a service asks for it; see berthmaster.client.Fleet.claim."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    name: ClaimName
    """Of the service's choice, in the namespace of the pool: the same name is the same claim, however often it is asked
    for. A name that was released by `claims.release` without a `call` is refused for an hour from then on.
    """

    pool: Pool
    """`NAMESPACE/NAME` of the pod pool."""

    labels: dict[str, str] = {}
    """Labels that the pod must have, with these values: `selector` of the claim."""

    pod_labels: dict[str, str] = {}
    """`additionalPodLabels` of the claim."""

    pod_annotations: dict[str, str] = {}
    """`additionalPodAnnotations` of the claim."""

    owner: str = ""
    """`ownerName` of the claim."""

    ttl: Length | None = "1h"
    """The claim is deleted so long after its creation or its last renewal, of which each repetition of the request is
    one; null: never.
    """

    wait_for_ports: bool = True
    """It is Bound only once its pod has the ports that the pod asks for."""

    until: Annotated[float, Field(gt=0)] | None = None
    """Seconds since 1970 by the clock of Redis: later nobody creates the claim, because nobody waits for it now."""

    call: Call | None = None
    """A random id, the same in each repetition of the request. A release by it ends only what this call has asked for,
    and an answer with a problem names it.
    """

    @property
    def namespace(self) -> str:
        """The namespace of the pool and of the claim."""
        return self.pool.partition("/")[0]


class CreateClaim(Payload):
    """A request to create a claim."""

    claim: NewClaim
    """The claim, as an object."""


class OfClaim(Payload):
    """A request about one claim that was created by a task."""

    claim: FullName
    """`NAMESPACE/NAME` of the claim."""


class RenewClaim(OfClaim):
    """A request to renew a claim that has a ttl."""

    renewal: Annotated[str, StringConstraints(min_length=1, max_length=253)]
    """Any new text; the same text renews once."""


class ReleaseClaim(OfClaim):
    """A request to delete a claim, and not to create it if it is created later."""

    call: Call | None = None
    """The id of a call that has failed: the claim stays if another call has asked for it too. Null: the claim goes."""
