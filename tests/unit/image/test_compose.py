"""compose/compose.yaml says nothing that Docker, our programs or the repository do not know."""

from __future__ import annotations

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


def test_it_is_a_compose_file() -> None:
    known = {key: value for key, value in FILE.items() if not key.startswith("x-")}
    assert ComposeSpecification.model_validate(known).services
    with pytest.raises(ValidationError):
        ComposeSpecification.model_validate({"services": {"a": {"image": "b", "commnad": "c"}}})


def test_everything_is_there() -> None:
    assert {*OURS, "redis", "kubernetes", "aws", "prometheus", "grafana"} <= SERVICES.keys()
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
    assert urls == {f"redis://:{asked}@redis:6379/0"}
    assert "PASSWORD" not in SERVICES["worker"]["environment"]["BERTHMASTER_SLOTS__RUNNER_REDIS_URL"]


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
