"""moto's query protocol on the strict backend, with AWS's paging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from moto.core.responses import ActionResult
from moto.elbv2.exceptions import ListenerOrBalancerMissingError
from moto.elbv2.responses import ELBV2Response

from compose.sandbox.aws.refusals import invalid
from compose.sandbox.aws.tags import StrictBackend

T = TypeVar("T")
LARGEST_PAGE = 400


class StrictResponse(ELBV2Response):
    """Answers one request."""

    def __init__(self, backend: Callable[[str], StrictBackend]) -> None:
        super().__init__()
        self._backend = backend

    @property
    def elbv2_backend(self) -> StrictBackend:
        """The strict backend of the request's region."""
        return self._backend(self.region)

    def describe_load_balancers(self) -> ActionResult:
        """Answer with a page of load balancers, sorted by name."""
        arns, names = self._get_param("LoadBalancerArns", []), self._get_param("Names", [])
        balancers = self.elbv2_backend.describe_load_balancers(arns, names)
        return self._page("LoadBalancers", balancers, lambda balancer: balancer.name)

    def describe_target_groups(self) -> ActionResult:
        """Answer with a page of target groups, sorted by name."""
        load_balancer = self._get_param("LoadBalancerArn")
        arns, names = self._get_param("TargetGroupArns", []), self._get_param("Names", [])
        groups = self.elbv2_backend.describe_target_groups(load_balancer, arns, names)
        return self._page("TargetGroups", groups, lambda group: group.name)

    def describe_listeners(self) -> ActionResult:
        """Answer with a page of listeners, sorted by port."""
        load_balancer, arns = self._get_param("LoadBalancerArn"), self._get_param("ListenerArns", [])
        if not load_balancer and not arns:
            raise ListenerOrBalancerMissingError()
        listeners = self.elbv2_backend.describe_listeners(load_balancer, arns)
        return self._page("Listeners", listeners, lambda listener: f"{int(listener.port):05}")

    def describe_account_limits(self) -> ActionResult:
        """Answer with the quotas."""
        quotas = self.elbv2_backend.settings.quotas
        limits = {
            "network-load-balancers": quotas.load_balancers,
            "listeners-per-network-load-balancer": quotas.listeners_per_load_balancer,
            "target-groups": quotas.target_groups,
            "targets-per-network-load-balancer": quotas.targets_per_load_balancer,
        }
        return ActionResult({"Limits": [{"Name": name, "Max": str(most)} for name, most in limits.items()]})

    def _page(self, name: str, items: Sequence[T], place: Callable[[T], str]) -> ActionResult:
        """Return the items after the marker, in the order of `place`. A change between two pages hides no item."""
        size = self._get_int_param("PageSize") or self.elbv2_backend.settings.page_size
        if not 1 <= size <= LARGEST_PAGE:
            raise invalid(f"PageSize '{size}' is not between 1 and {LARGEST_PAGE}")
        marker = self._get_param("Marker", "")
        rest = [item for item in sorted(items, key=place) if place(item) > marker]
        more = place(rest[size - 1]) if len(rest) > size else None
        result: dict[str, Any] = {name: rest[:size], "NextMarker": more}
        return ActionResult(result)
