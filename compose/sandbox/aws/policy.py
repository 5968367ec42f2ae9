"""Evaluate an IAM policy for calls of Elastic Load Balancing, as far as our policy needs it.

A call is allowed if each of its questions is allowed by a statement. A call has one question for each resource that it
names, and a question about AddTags if it creates a resource with tags. Supported are Allow, patterns of resources, and
the conditions Null, StringEquals and StringEqualsIfExists.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

Json = dict[str, Any]
Tags = Mapping[str, str]
NAMED = ("LoadBalancerArn", "ListenerArn", "TargetGroupArn")
EC2 = {
    "CreateLoadBalancer": "AccountAttributes Addresses InternetGateways SecurityGroups Subnets Vpcs",
    "CreateTargetGroup": "InternetGateways Vpcs",
    "RegisterTargets": "Instances InternetGateways Subnets Vpcs",
}
"""The EC2 kinds that AWS describes on the caller's behalf (table "Elastic Load Balancing API permissions")."""
SERVICE = "elasticloadbalancing.amazonaws.com"
ROLE = f"arn:aws:iam::123456789012:role/aws-service-role/{SERVICE}/AWSServiceRoleForElasticLoadBalancing"
NEW_RESOURCES = {"CreateLoadBalancer": "loadbalancer/net/{}/0", "CreateTargetGroup": "targetgroup/{}/0"}


NAME = "<name of this cluster>"
"""Placeholder in the policy for the name of the cluster."""


def statements_of(policy: str, cluster: str) -> list[Json]:
    """Return the statements of a policy, with the cluster's name in place of `NAME`."""
    statements: list[Json] = json.loads(policy.replace(NAME, cluster))["Statement"]
    return statements


class Question(NamedTuple):
    """A permission to check: an action on a resource. `context`: the condition keys and their values."""

    action: str
    resource: str
    context: Tags


def refused(statements: Iterable[Json], questions: Iterable[Question]) -> Question | None:
    """Return the first question that no statement allows, or None."""
    rows = list(statements)
    return next((question for question in questions if not any(allows(row, question) for row in rows)), None)


def allows(statement: Json, question: Question) -> bool:
    """Return whether a statement allows a question."""
    if statement["Effect"] != "Allow" or question.action not in statement["Action"]:
        return False
    if not any(fnmatchcase(question.resource, pattern) for pattern in listed(statement["Resource"])):
        return False
    conditions = statement.get("Condition", {})
    return all(
        holds(operator, question.context.get(key), listed(values))
        for operator, rules in conditions.items()
        for key, values in rules.items()
    )


def holds(operator: str, value: str | None, values: list[str]) -> bool:
    """Return whether a condition holds for a key's value (None: absent). Raises ValueError for an unknown operator."""
    if operator == "Null":
        return str(value is None).lower() in values
    if operator == "StringEquals":
        return value in values
    if operator == "StringEqualsIfExists":
        return value is None or value in values
    raise ValueError(f"an operator that the sandbox does not know: {operator}")


def listed(value: str | list[str]) -> list[str]:
    """Return the list of a policy's value, which may be a single string."""
    return [value] if isinstance(value, str) else value


def questions(action: str, form: Mapping[str, str], arns: str, tags_of: Callable[[str], Tags]) -> Iterator[Question]:
    """Yield the questions of a call. `arns`: the prefix of the ARNs of this account and region."""
    asked = {f"aws:RequestTag/{key}": value for key, value in tags_in(form).items()}
    created = arns + NEW_RESOURCES[action].format(form.get("Name", "")) if action in NEW_RESOURCES else ""
    for resource in [created] if created else named(form) or ["*"]:
        own = {f"aws:ResourceTag/{key}": value for key, value in tags_of(resource).items()}
        yield Question(f"elasticloadbalancing:{action}", resource, {**asked, **own})
    if action.startswith("Create") and asked:
        new = created or form.get("LoadBalancerArn", "").replace(":loadbalancer/", ":listener/") + "/0"
        yield Question("elasticloadbalancing:AddTags", new, {**asked, "elasticloadbalancing:CreateAction": action})
    for kind in EC2.get(action, "").split():
        yield Question(f"ec2:Describe{kind}", "*", {})
    if action == "CreateLoadBalancer":
        # AWS checks this only for the first load balancer of an account. The check is always made here, so that no
        # policy lacks the permission.
        yield Question("iam:CreateServiceLinkedRole", ROLE, {"iam:AWSServiceName": SERVICE})


def named(form: Mapping[str, str]) -> list[str]:
    """Return the ARNs that a call names."""
    return [value for key, value in form.items() if key in NAMED or key.startswith("ResourceArns.member.")]


def tags_in(form: Mapping[str, str]) -> Tags:
    """Return the tags in the parameters of a call."""
    keys = [name for name in form if name.startswith("Tags.member.") and name.endswith(".Key")]
    return {form[name]: form.get(f"{name.removesuffix('Key')}Value", "") for name in keys}
