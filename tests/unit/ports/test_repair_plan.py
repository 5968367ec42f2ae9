"""The plan of an audit's repair: each difference is in one list, by what its remedy does."""

from __future__ import annotations

from typing import get_args

from domain.port_audit.difference import Remedy
from domain.port_audit.drift import Comparison, differences
from domain.port_audit.plan import Create, Delete, Update, plan
from domain.port_audit.sides import AuditedLoadBalancer, CloudSide, LedgerSide, UnusableLoadBalancer

OURS = AuditedLoadBalancer("lb-0", "arn:lb-0", created=True, open=True, lost={"pool": "arena"})


def test_every_remedy_is_in_one_list() -> None:
    remedies = [Remedy.NONE, *get_args(Update), *get_args(Create), *get_args(Delete)]
    assert sorted(remedies) == sorted(Remedy)


def test_a_plan_has_every_difference_once_and_updates_come_first() -> None:
    unusable = {"arn:gone": UnusableLoadBalancer("gone", "it is in another VPC")}
    cloud, ledger = CloudSide({"lb-0": OURS}, unusable=unusable), LedgerSide({}, {}, {})
    comparison = Comparison("arena", cloud, ledger, {}, lambda *_: {})
    repair_plan = plan(comparison)
    assert sorted(repair_plan) == list(differences(comparison))
    assert [difference.remedy for difference in repair_plan] == [Remedy.RETAG, Remedy.ADOPT, Remedy.NONE]
    assert [len(items) for items in (repair_plan.update, repair_plan.create, repair_plan.undecided)] == [1, 1, 1]
    assert repair_plan.delete == ()
