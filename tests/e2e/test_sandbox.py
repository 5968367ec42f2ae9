"""`berthmaster sandbox` as a user meets it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from compose.sandbox.kube.kubelet.runners import EXAMPLE
from tests.support.servers.sandbox import sandbox
from tests.support.waiting import eventually

PODS = 12


def test_every_pod_gets_an_endpoint_of_its_own(kube_kind: str, tmp_path: Path) -> None:
    arguments = ("--api", kube_kind, "--pods", str(PODS), "--jobs", "6", "--once", "--json", "--no-flower")
    with sandbox(tmp_path, *arguments) as started:
        ended = started.end()
        assert ended.status == 0, ended.said
        summary = ended.summary
        assert (summary["converged"], summary["missing"]) == (True, [])
        assert (summary["pods"], summary["bound"], summary["endpoints"]) == (PODS, PODS, PODS)
        assert (list(summary["load_balancers"].values()), summary["rounds"]) == ([f"{PODS}/50"], 1)
        assert (summary["aws_calls"]["CreateLoadBalancer"], summary["aws_refusals"]) == (1, {})
        assert summary["jobs"] == {"succeeded": 5, "cancelled": 1}
        assert summary["claims"] == {"Bound": 4}
        assert sum(summary["runner_pods"].values()) in (1, 2, 3)
        assert started.members() == []
        assert (started.directory / "logs").exists()
        assert not (started.directory / "env").exists()  # it would lead to ports of nobody


@pytest.mark.row("SL-22")
def test_a_runner_that_is_killed_is_replaced_and_jobs_go_on(kube_kind: str, tmp_path: Path) -> None:
    arguments = ("--api", kube_kind, "--pods", "1", "--jobs", "8", "--runners", "1", "--no-flower")
    with sandbox(tmp_path, *arguments, "--once", "--json") as started:
        started.says("1 decided")  # jobs are on their way
        (runner,) = (process for process in started.members() if EXAMPLE in process.cmdline())
        runner.kill()
        ended = started.end()
        jobs = ended.summary["jobs"]
        lost = jobs.pop("lost", 0)  # it was applying, and nobody knows how far it came
        assert (sum(jobs.values()) + lost, ended.status) == (8, 1 if lost else 0), ended.said
        assert lost <= 1
        assert jobs.keys() == {"succeeded", "cancelled"}
        assert len(list((started.directory / "logs" / "runners").glob("*.log"))) == 2
        assert started.members() == []


def test_without_jobs_there_are_no_runners(tmp_path: Path) -> None:
    with sandbox(tmp_path, "--pods", "1", "--jobs", "0", "--claims", "0", "--once", "--json", "--no-flower") as started:
        ended = started.end()
        summary = ended.summary
        assert (ended.status, summary["jobs"], summary["runner_pods"], summary["claims"]) == (0, {}, {}, {})
        assert not (started.directory / "logs" / "runners").exists()


def test_what_is_not_converged_in_time_is_explained(tmp_path: Path) -> None:
    with sandbox(tmp_path, "--pods", "3", "--once", "--timeout", "1", "--no-flower") as started:
        ended = started.end()
        assert ended.status == 1
        assert "not converged: 3 pods are not bound: game-0001 (" in ended.output
        assert started.members() == []


@pytest.mark.parametrize(
    ("number", "while_it", "status"),
    [(signal.SIGINT, "pods that ask", 128 + signal.SIGINT), (signal.SIGTERM, "Redis", 128 + signal.SIGTERM)],
)
def test_an_interrupted_sandbox_leaves_no_process(
    kube_kind: str, number: signal.Signals, while_it: str, status: int, tmp_path: Path
) -> None:
    with sandbox(tmp_path, "--api", kube_kind, "--pods", "150") as started:
        started.says(while_it)
        assert started.members() != []
        started.process.send_signal(number)
        assert started.end().status == status
        assert started.members() == []


def test_after_convergence_ctrl_c_is_an_ordinary_end(tmp_path: Path) -> None:
    with sandbox(tmp_path, "--pods", "2", "--jobs", "2", "--no-flower") as started:
        started.says("Ctrl-C ends the sandbox")
        started.process.send_signal(signal.SIGINT)
        assert started.end().status == 0
        assert started.members() == []


def test_a_process_that_dies_ends_the_sandbox_with_its_log(tmp_path: Path) -> None:
    with sandbox(tmp_path, "--pods", "150", "--no-flower") as started:
        started.says("pods that ask")
        (publisher,) = (process for process in started.members() if process.cmdline()[-2:] == ["-m", "events"])
        publisher.kill()
        ended = started.end()
        assert ended.status == 1
        assert "publisher ended with status -9:" in ended.output
        assert "publisher_started" in ended.output
        assert started.members() == []


def test_runners_end_with_a_kubelet_that_was_killed(tmp_path: Path) -> None:
    with sandbox(tmp_path, "--pods", "150", "--no-flower") as started:
        eventually(lambda: [process for process in started.members() if EXAMPLE in process.cmdline()])
        (kubelet,) = (process for process in started.members() if "compose.sandbox.kube.kubelet" in process.cmdline())
        kubelet.kill()
        ended = started.end()
        assert "kubelet ended with status -9:" in ended.output
        assert started.members() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--pods", "0"), "--pods"),
        (("--pods", "1001"), "--pods"),
        (("--jobs", "-1"), "--jobs"),
        (("--runners", "9"), "--runners"),
        (("--api", "minikube"), "--api"),
        (("--timeout", "0"), "--timeout"),
        (("--surprise",), "--surprise"),
    ],
)
def test_a_wrong_option_is_named(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with sandbox(tmp_path, *arguments) as started:
        ended = started.end()
        assert (ended.status, ended.output) == (2, "")
        assert said in ended.said
        assert "Traceback" not in ended.said
        assert not started.directory.exists()


def test_the_environment_of_the_user_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = {
        "BERTHMASTER_REDIS__URL": "redis://127.0.0.1:1/0",
        "BERTHMASTER_BROKER__URL": "redis://127.0.0.1:1/0",
        "BERTHMASTER_KUBERNETES__SERVER": "http://127.0.0.1:1",
        "BERTHMASTER_AWS__ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_PROFILE": "production",
        "KUBECONFIG": "/nowhere",
    }
    for name, value in elsewhere.items():
        monkeypatch.setenv(name, value)
    with sandbox(tmp_path, "--pods", "1", "--jobs", "1", "--once", "--no-flower") as started:
        ended = started.end()
        assert ended.status == 0, ended.said + ended.output
