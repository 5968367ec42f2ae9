"""What the providers of load balancers ask of a pool's spec: one row a provider.

A pool's region names its provider: no two rows have a pattern that matches the same region. workers/cloud/providers.py
has a provider's settings and calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from berthmaster.forms import form


@dataclass(frozen=True)
class ProviderRules:
    """One provider. `name` is its group of settings and the tag of its call budgets in Redis, `title` is for people.

    `region` and `certificate` are the patterns of valid texts, anchored at both ends; `certificate_words` says what the
    id of a certificate is. `listeners` is the most that one load balancer carries, whatever the account's limits.
    """

    name: str
    title: str
    region: str
    certificate: str
    certificate_words: str
    listeners: int


AWS: Final = ProviderRules(
    name="aws",
    title="AWS",
    region=r"^[a-z]{2,}(-[a-z]+)+-[0-9]+$",
    certificate=(
        "^arn:aws[a-z-]*:(acm:[a-z0-9-]+:[0-9]{12}:certificate|iam::[0-9]{12}:server-certificate)/[!-~]{1,200}$"
    ),
    certificate_words="the ARN of a certificate of ACM or IAM",
    listeners=50,
)
PROVIDERS: Final = (AWS,)


def pattern_of(part: Callable[[ProviderRules], str], rows: Sequence[ProviderRules] = PROVIDERS) -> str:
    """The pattern of what any provider accepts; `part` chooses the pattern of one."""
    return "|".join(part(row) for row in rows)


REGION: Final = form(pattern_of(lambda row: row.region), " or ".join(f"a region of {row.title}" for row in PROVIDERS))
"""With another text there is no client, not even to delete the pool."""
CERTIFICATE_ID: Final = form(
    pattern_of(lambda row: row.certificate), " or ".join(row.certificate_words for row in PROVIDERS)
)
MOST_LISTENERS: Final = max(row.listeners for row in PROVIDERS)
"""The most listeners of a load balancer of any provider."""


def rules_of(region: str, rows: Sequence[ProviderRules] = PROVIDERS) -> ProviderRules | None:
    """The rules of the provider that has the region, None where no provider has it."""
    return next((row for row in rows if re.fullmatch(row.region, region)), None)
