"""compose/compose.yaml says nothing that Docker, our programs or the repository do not know."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_pydantic import ComposeSpecification
from pydantic import ValidationError
from redis import Redis

from compose.sandbox.aws.__main__ import arguments
from compose.sandbox.daemon import Daemon, answers
from compose.sandbox.free_ports import free_port
from compose.sandbox.redis_server import server_executable
from tests.support.commands import unknown_words
from tests.support.variables import unknown_variables

FOLDER = Path(__file__).parents[3] / "compose"
FILE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = FILE["services"]
OURS = ("publisher", "worker", "beat", "flower")
LISTEN = {
    "redis": "6379",
    "kubernetes": "8001",
    "aws": "4566",
    "flower": "5555",
    "prometheus": "9090",
    "grafana": "3000",
}
"""The port of each server in its container."""


def test_it_is_a_compose_file() -> None:
    known = {key: value for key, value in FILE.items() if not key.startswith("x-")}
    assert ComposeSpecification.model_validate(known).services
    with pytest.raises(ValidationError):
        ComposeSpecification.model_validate({"services": {"a": {"image": "b", "commnad": "c"}}})


def test_everything_is_there() -> None:
    others = {"redis", "kubernetes", "kubelet", "aws", "define", "demo", "prometheus", "grafana"}
    assert {*OURS, *others} == SERVICES.keys()
    assert SERVICES["worker"]["deploy"]["replicas"] == 2


@pytest.mark.parametrize("name", OURS)
def test_commands_probes_and_variables_are_ours(name: str) -> None:
    service = SERVICES[name]
    kind, program, *probe = service["healthcheck"]["test"]
    assert (kind, program, unknown_words(probe), unknown_words(service["command"])) == ("CMD", "berthmaster", [], [])
    assert unknown_variables(service["environment"]) == []
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]


def test_the_simulated_aws_gets_options_that_it_has() -> None:
    assert arguments(SERVICES["aws"]["command"]).throttle


@pytest.mark.row("ST-35")
@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if "entrypoint" in service])
def test_a_service_that_is_not_berthmaster_is_a_module_of_ours(name: str) -> None:
    python, option, module = SERVICES[name]["entrypoint"]
    assert (python, option) == ("python", "-m")
    assert module.startswith("compose.sandbox.")
    assert find_spec(module)
    assert unknown_variables(SERVICES[name].get("environment", {})) == []


@pytest.mark.row("ST-35")
@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_needs_can_be_waited_for(name: str) -> None:
    needed = SERVICES[name].get("depends_on", {})
    for other, how in needed.items() if isinstance(needed, dict) else ():
        healthy = how["condition"] == "service_healthy"
        assert healthy or how["condition"] == "service_completed_successfully"
        assert ("test" in SERVICES[other]["healthcheck"]) == healthy
        assert healthy or SERVICES[other]["restart"] == "no", "one that is started again never completes"
    assert set(needed) <= SERVICES.keys()


@pytest.mark.row("ST-35")
@pytest.mark.parametrize("name", SERVICES)
def test_every_server_that_is_named_listens_on_that_port(name: str) -> None:
    """In addresses of environment and command; what is published is what listens."""
    service = SERVICES[name]
    texts = [*service.get("environment", {}).values(), *service.get("command", [])]
    named = {found for text in texts for found in re.findall(rf"\b({'|'.join(SERVICES)}):(\d+)", text)}
    assert named <= LISTEN.items()
    published = [port.rsplit(":", 1)[1] for port in service.get("ports", [])]
    assert set(published) <= {LISTEN.get(name)}
    if name in LISTEN and name not in ("redis", "prometheus", "grafana"):  # these have their usual ports
        assert LISTEN[name] in texts


@pytest.mark.row("ST-37")
def test_one_command_chooses_passwords_once_and_runs_it(tmp_path: Path) -> None:
    """With a Docker that only says what it is told."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "compose").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(FOLDER.parent / "scripts" / "compose.sh", tmp_path / "scripts")
    docker = tmp_path / "bin" / "docker"
    docker.write_text('#!/bin/sh\necho "$@"\n')
    docker.chmod(0o755)
    environment = {**os.environ, "PATH": f"{docker.parent}:{os.environ['PATH']}"}

    def run(*arguments: str) -> tuple[str, str]:
        command = [str(tmp_path / "scripts" / "compose.sh"), *arguments]
        said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        return said.strip(), (tmp_path / "compose" / ".env").read_text()

    first, chosen = run()
    assert first == "compose -f compose/compose.yaml up --build"
    assert run("down", "--volumes") == ("compose -f compose/compose.yaml down --volumes", chosen)
    asked = set(re.findall(r"\$\{(\w+):\?", (FOLDER / "compose.yaml").read_text()))
    values = dict(line.split("=", 1) for line in chosen.splitlines())
    assert values.keys() == asked
    assert all(re.fullmatch(r"(people:)?[a-z0-9]{16,32}", value) for value in values.values())
    assert (tmp_path / "compose" / ".env").stat().st_mode & 0o077 == 0
    assert "scripts/compose.sh" in (FOLDER.parent / "Makefile").read_text()


@pytest.mark.row("ST-37")
@pytest.mark.parametrize("docker", ['[ "$2" != version ]', None], ids=["without Compose", "without Docker"])
def test_without_compose_the_command_says_what_it_needs_and_writes_nothing(docker: str | None, tmp_path: Path) -> None:
    for folder in ("scripts", "compose", "bin"):
        (tmp_path / folder).mkdir()
    script = shutil.copy(FOLDER.parent / "scripts" / "compose.sh", tmp_path / "scripts")
    for name in ("sh", "dirname", "tr", "head"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    if docker:
        (tmp_path / "bin" / "docker").write_text(f"#!/bin/sh\n{docker}\n")
        (tmp_path / "bin" / "docker").chmod(0o755)
    environment = {"PATH": str(tmp_path / "bin")}
    done = subprocess.run([script], env=environment, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs Docker with Compose 2" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list((tmp_path / "compose").iterdir()) == []


def test_redis_keeps_what_it_is_told() -> None:
    command = SERVICES["redis"]["command"]
    told = dict(zip(command[1::2], command[2::2], strict=True))
    assert (told["--appendonly"], told["--maxmemory-policy"]) == ("yes", "noeviction")


@pytest.mark.row("HO-03", "HO-12")
def test_redis_takes_its_command(tmp_path: Path) -> None:
    port = free_port()
    told = [argument if "REDIS_PASSWORD" not in argument else "secret" for argument in SERVICES["redis"]["command"]]
    place = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(tmp_path)]
    redis = Daemon("redis", [server_executable(), *told[1:], *place], tmp_path)
    redis.start(lambda: answers(port))
    try:
        with Redis(port=port, password="secret", decode_responses=True) as client:
            settings: Any = client.config_get("max*", "append*")
    finally:
        redis.kill()
    assert (settings["maxmemory"], settings["maxmemory-policy"], settings["appendonly"]) == (
        str(256 * 2**20),
        "noeviction",
        "yes",
    )


@pytest.mark.row("HO-12")
def test_redis_asks_for_a_password_which_our_processes_have() -> None:
    asked = "${REDIS_PASSWORD:?letters and digits}"
    command = SERVICES["redis"]["command"]
    assert command[command.index("--requirepass") + 1] == asked
    assert SERVICES["redis"]["environment"]["REDISCLI_AUTH"] == asked
    urls = {SERVICES[name]["environment"]["BERTHMASTER_REDIS__URL"] for name in OURS}
    assert urls == {f"redis://default:{asked}@redis:6379/0"}


def test_every_file_that_is_mounted_exists() -> None:
    mounted = [each.split(":")[0] for service in SERVICES.values() for each in service.get("volumes", [])]
    files = [each for each in mounted if each.startswith(".")]
    assert files
    assert [each for each in files if not (FOLDER / each).exists()] == []
    assert {each for each in mounted if not each.startswith(".")} <= FILE["volumes"].keys()


def test_only_this_machine_reaches_a_port_and_a_password_must_be_chosen() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert SERVICES["flower"]["environment"]["FLOWER_BASIC_AUTH"].startswith("${FLOWER_BASIC_AUTH:?")
    assert SERVICES["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"].startswith("${GRAFANA_PASSWORD:?")


def test_prometheus_asks_where_metrics_are_served() -> None:
    config = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
    asked = {each["job_name"]: each for each in config["scrape_configs"]}
    [names] = asked["worker"]["dns_sd_configs"]
    assert (names["names"], str(names["port"])) == (
        ["worker"],
        SERVICES["worker"]["environment"]["BERTHMASTER_METRICS__PORT"],
    )
    assert asked.keys() <= SERVICES.keys()
    mounted = [each.split(":")[1] for each in SERVICES["prometheus"]["volumes"]]
    assert all(Path(pattern).parent.as_posix() in mounted for pattern in config["rule_files"])
