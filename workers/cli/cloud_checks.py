"""What `doctor` asks the providers: read-only calls, which cost nothing, in each region that a port pool names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from berthmaster.kinds import PORT_POOL
from domain.port_pools.providers import rules_of
from workers.cli.check import Check
from workers.cli.cluster_checks import listed

if TYPE_CHECKING:
    from events.kube.api import KubeApi
    from workers.cloud.provider import CloudProvider


def cloud_checks(kube: KubeApi, providers: Sequence[CloudProvider]) -> Iterator[Check]:
    """Check the provider of each region that a port pool names."""
    by_rules = {provider.rules: provider for provider in providers}
    for region in regions(listed(kube, PORT_POOL)):
        rules = rules_of(region)
        if rules:
            yield from region_checks(by_rules[rules], region)
        else:
            yield Check(f"Provider of {region}", ok=False, finding="no provider of load balancers has this region")


def regions(pools: list[dict[str, Any]]) -> list[str]:
    """Return the regions of the pools, sorted."""
    return sorted({str(region) for pool in pools if (region := (pool.get("spec") or {}).get("region"))})


def region_checks(provider: CloudProvider, region: str) -> Iterator[Check]:
    """Check one region. Yields a line for each action that fails, but only one line if all fail in the same way."""
    name, answers = f"{provider.rules.title} in {region}", provider.check_access(region)
    problems = {action: problem for action, problem in answers.items() if problem}
    if not problems:
        finding = f"answers {', '.join(answers)}; actions that change something were not tried"
        yield Check(name, ok=True, finding=finding)
    elif len(problems) == len(answers) and len(set(problems.values())) == 1:
        yield Check(name, ok=False, finding=next(iter(problems.values())))
    else:
        yield from problem_checks(name, problems)


def problem_checks(name: str, problems: Mapping[str, str]) -> Iterator[Check]:
    """Yield a failed check for each action."""
    for action, problem in problems.items():
        yield Check(f"{name}: {action}", ok=False, finding=problem)
