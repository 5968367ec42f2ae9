"""docs/operations.md knows the alerts and the lines of the log that there are."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.support.log_source import lines
from tests.unit.test_dashboards import OPERATIONS, rules

BASE = OPERATIONS.parents[1] / "deploy" / "base"
COMPONENTS = BASE.parent / "components"
TEXT = OPERATIONS.read_text(encoding="utf-8")


def section(title: str) -> str:
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def transitions() -> dict[str, set[str]]:
    """Event -> the keys that the document promises."""
    rows = re.findall(r"^\|[^|]*\| (`[^|]*) \| ([^|]*) \|$", section("Log lines"), re.MULTILINE)
    return {
        event: set(re.findall(r"`(\w+)`", keys)) for events, keys in rows for event in re.findall(r"`(\w+)`", events)
    }


@pytest.mark.row("EV-15")
def test_every_alert_is_explained_and_no_other() -> None:
    assert re.findall(r"^\| `(\w+)` \|", section("Alerts"), re.MULTILINE) == [rule["alert"] for rule in rules()]


@pytest.mark.row("EV-17")
@pytest.mark.parametrize("event", transitions())
def test_every_place_that_logs_a_transition_gives_it_its_keys(event: str) -> None:
    places = [line for line in lines() if line.event == event]
    assert places != []
    lacking = {line.module: transitions()[event] - set(line.keys) for line in places if "..." not in line.keys}
    assert {module: keys for module, keys in lacking.items() if keys} == {}


@pytest.mark.row("EV-15")
def test_the_pod_monitor_finds_the_pods_and_the_port_that_are_deployed() -> None:
    spec = yaml.safe_load((COMPONENTS / "pod-monitor" / "pod-monitor.yaml").read_text(encoding="utf-8"))["spec"]
    (selected,), (endpoint,) = spec["selector"]["matchExpressions"], spec["podMetricsEndpoints"]
    texts = {name: (BASE / f"{name}.yaml").read_text(encoding="utf-8") for name in ("publisher", "worker")}
    for name in selected["values"]:
        (pod,) = (each["spec"]["template"] for each in yaml.safe_load_all(texts[name]) if each["kind"] == "Deployment")
        assert pod["metadata"]["labels"][selected["key"]] == name
        assert endpoint["port"] in [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
