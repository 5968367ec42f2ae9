"""Tags as AWS has them: at most twenty resources a call, and one missing resource fails the whole call."""

from __future__ import annotations

from compose.sandbox.aws.refusals import invalid
from compose.sandbox.aws.targets import StrictTargets

MOST_IN_ONE_CALL = 20


class StrictBackend(StrictTargets):
    """The complete strict backend of one region."""

    def add_tags(self, resource_arns: list[str], tags: list[dict[str, str]]) -> None:
        """Tag resources: all of them, or none. Raises ELBClientError if one is missing or has too many tags."""
        self._check(resource_arns)
        for arn in resource_arns:
            self.check_tags(self.tagging_service.get_tag_dict_for_resource(arn), tags)
        for arn in resource_arns:
            self.tagging_service.tag_resource(arn, tags)

    def describe_tags(self, resource_arns: list[str]) -> dict[str, dict[str, str]]:
        """Return the tags of each resource. Raises ELBClientError if one is missing."""
        self._check(resource_arns)
        return super().describe_tags(resource_arns)

    def _check(self, resource_arns: list[str]) -> None:
        if len(resource_arns) > MOST_IN_ONE_CALL:
            raise invalid(f"at most {MOST_IN_ONE_CALL} resources can be named in a call")
        for arn in resource_arns:
            self._get_resource_by_arn(arn)
