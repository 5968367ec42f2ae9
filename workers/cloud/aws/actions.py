"""AWS's actions, and which of them share an allowance of the call budget."""

from __future__ import annotations

from typing import Final

from workers.cloud.call_budget import ApiClass

ACTIONS: Final = {
    "RegisterTargets": ApiClass.REGISTER,
    "DeregisterTargets": ApiClass.REGISTER,
    "ModifyLoadBalancerAttributes": ApiClass.MODIFY,
    "ModifyListener": ApiClass.MODIFY,
    "ModifyTargetGroup": ApiClass.MODIFY,
    "ModifyTargetGroupAttributes": ApiClass.MODIFY,
    "CreateLoadBalancer": ApiClass.WRITE,
    "CreateListener": ApiClass.WRITE,
    "CreateTargetGroup": ApiClass.WRITE,
    "DeleteLoadBalancer": ApiClass.WRITE,
    "DeleteListener": ApiClass.WRITE,
    "DeleteTargetGroup": ApiClass.WRITE,
    "AddTags": ApiClass.WRITE,
    "DescribeAccountLimits": ApiClass.DESCRIBE,
    "DescribeLoadBalancers": ApiClass.DESCRIBE,
    "DescribeListeners": ApiClass.DESCRIBE,
    "DescribeTargetGroups": ApiClass.DESCRIBE,
    "DescribeTargetHealth": ApiClass.DESCRIBE,
    "DescribeTags": ApiClass.DESCRIBE,
}
"""Every action of AWS that we use; deploy/iam/policy.json allows exactly these."""
