"""Summarize a sandbox, as a table for people and as JSON for scripts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson
from rich.table import Table

from compose.sandbox.jobs import NAMESPACE, POOL
from compose.sandbox.lines import counted
from compose.sandbox.picture import Picture
from compose.sandbox.stack import Stack
from compose.sandbox.tenants import NAMESPACE as TENANTS
from compose.sandbox.workload import NAMESPACE as GAMES

A_POD: Final = f'kubectl -n {GAMES} describe "$(kubectl -n {GAMES} get pods -o name | tail -n 1)"'
"""Describes the youngest pod, because the first ones may be gone."""


@dataclass(frozen=True)
class Summary:
    """The results of a sandbox. Times are in seconds since its start; None if the event did not happen."""

    converged: bool
    missing: tuple[str, ...]
    pods: int
    bound: int
    endpoints: int  # distinct
    load_balancers: Mapping[str, str]  # name -> allocated/capacity
    rounds: int
    aws_calls: Mapping[str, int]
    aws_refusals: Mapping[str, int]
    started: float | None
    first_bound: float | None
    seconds: float
    directory: Path
    kubernetes: str
    kubeconfig: Path
    flower: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[str, int] = field(default_factory=dict)  # by state, which is the outcome of ended jobs
    runner_pods: Mapping[str, int] = field(default_factory=dict)
    slots: Mapping[str, int] = field(default_factory=dict)
    claims: Mapping[str, int] = field(default_factory=dict)  # by phase

    def json(self) -> str:
        """Return the summary as indented JSON."""
        return orjson.dumps(asdict(self), default=str, option=orjson.OPT_INDENT_2).decode()

    def table(self, lasting: bool = True) -> Table:
        """Return a table. `lasting`: the sandbox keeps running, so its addresses are shown."""
        table = Table(show_header=False, title="Sandbox" if self.converged else "Sandbox, not converged")
        api = [("Kubernetes API", self.kubernetes)] if lasting else []
        for name, value in [*self._rows(), *api, ("logs", f"{self.directory}")]:
            table.add_row(name, value)
        return table

    def _rows(self) -> list[tuple[str, str]]:
        calls = ", ".join(f"{action} {number}" for action, number in sorted(self.aws_calls.items()))
        refused = ", ".join(f"{what} {number}" for what, number in sorted(self.aws_refusals.items()))
        balancers = ", ".join(f"{name} {use}" for name, use in self.load_balancers.items())
        return [
            ("pods", f"{self.pods}, {self.bound} bound"),
            ("distinct endpoints", str(self.endpoints)),
            ("load balancers", f"{len(self.load_balancers)}: {balancers}"),
            ("scale-up rounds", f"{self.rounds}: so often a full port pool got load balancers"),
            ("AWS calls", calls or "none"),
            ("refused by AWS", refused or "none"),
            *self._jobs(),
            *([("claims", f"{sum(self.claims.values())}: {counted(self.claims)}")] if self.claims else []),
            ("first bind after", seconds(self.first_bound)),
            ("all started after", seconds(self.started)),
            ("all done after", seconds(self.seconds)),
        ]

    def _jobs(self) -> list[tuple[str, str]]:
        if not self.jobs:
            return []
        cancelled = "; the sandbox's person refuses every sixth plan" if self.jobs.get("cancelled") else ""
        return [
            ("jobs", f"{sum(self.jobs.values())}: {counted(self.jobs)}{cancelled}"),
            ("runner pods", f"{sum(self.runner_pods.values())}, with {self.slots.get('total', 0)} slots"),
        ]

    def hints(self) -> list[str]:
        """Return commands to type in another terminal."""
        env = shlex.quote(str(self.directory / "env"))
        jobs = [f"berthmaster jobs {NAMESPACE}/{POOL} --ended"] if self.jobs else []
        kinds = [f"kubectl -n {NAMESPACE} get podpools,pods"] if self.jobs else []
        kinds += [f"kubectl -n {TENANTS} get podclaims,podpools,pods"] if self.claims else []
        return [
            f". {env}   # sets BERTHMASTER_REDIS__URL, KUBECONFIG, PATH and the address of AWS, then for example:",
            "; ".join(["berthmaster status", "berthmaster doctor", *jobs]),
            "; ".join(["kubectl get portpools", f"kubectl -n {GAMES} get pods", A_POD]) + "   # needs kubectl",
            *(["; ".join(kinds)] if kinds else []),
            "aws elbv2 describe-load-balancers   # needs the AWS CLI",
        ]


def seconds(number: float | None) -> str:
    """Return a time for the table, '-' for None."""
    return "-" if number is None else f"{number:.1f} s"


def summarize(stack: Stack, picture: Picture, missing: list[str], times: Mapping[str, float | None]) -> Summary:
    """Return the summary of a sandbox. `times` has started, first_bound and seconds."""
    aws = stack.remote_aws
    return Summary(
        converged=not missing,
        missing=tuple(missing),
        pods=len(picture.pods),
        bound=len(picture.bound),
        endpoints=len(set(picture.endpoints)),
        load_balancers={
            balancer.name: f"{balancer.allocated}/{balancer.capacity}" for balancer in picture.pool.balancers
        },
        rounds=picture.rounds,
        aws_calls=aws.counts(),
        aws_refusals=aws.refusals(),
        directory=stack.directory,
        kubernetes=stack.kube.url,
        kubeconfig=stack.kube.kubeconfig,
        flower=stack.flower_login,
        jobs=dict(picture.jobs),
        runner_pods=dict(picture.runners.pods),
        slots=dict(picture.runners.slots),
        claims=dict(picture.phases),
        **fixed(times),
    )


def fixed(times: Mapping[str, float | None]) -> dict[str, Any]:
    """Return the times rounded to hundredths."""
    return {name: None if value is None else round(value, 2) for name, value in times.items()}
