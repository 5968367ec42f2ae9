"""Dashboards and alerts ask for what there is: every metric and label in them is one that a process of ours exports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from berthmaster import routing
from tests.support.promql import named
from tests.support.registries import all_metrics
from workers.settings import WorkerSettings

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARDS = sorted((DEPLOY / "dashboards").glob("*.json"))
ALERTS = sorted((DEPLOY / "alerts").glob("*.yaml"))
OPERATIONS = DEPLOY.parent / "docs" / "operations.md"


def dashboard(path: Path) -> dict[str, Any]:
    return dict(orjson.loads(path.read_bytes()))


def panels(path: Path) -> list[dict[str, Any]]:
    return [panel for panel in dashboard(path)["panels"] if panel["type"] != "row"]


def rules() -> list[dict[str, Any]]:
    groups = [group for path in ALERTS for group in yaml.safe_load(path.read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> Iterator[tuple[str, str]]:
    """Where it is, and the query."""
    for path in DASHBOARDS:
        yield from ((f"{path.name} {p['title']}", t["expr"]) for p in panels(path) for t in p["targets"])
    yield from ((rule["alert"], rule["expr"]) for rule in rules())


@pytest.mark.row("EV-15")
def test_every_query_names_metrics_and_labels_that_are_exported() -> None:
    known = all_metrics()
    asked = [(where, name, labels) for where, query in queries() for name, labels in named(query)]
    assert [(where, name) for where, name, _ in asked if name not in known] == []
    unknown = [(where, name, labels - set(known[name])) for where, name, labels in asked]
    assert [each for each in unknown if each[2]] == []


@pytest.mark.row("EV-15")
def test_every_metric_is_on_a_dashboard_or_in_an_alert() -> None:
    asked = {re.sub("_(bucket|sum|count)$", "", name) for _, query in queries() for name, _ in named(query)}
    known = {re.sub("_(bucket|sum|count)$", "", name) for name in all_metrics()}
    rare = {name for name in known - asked if name.startswith("berthmaster_publisher_")}
    assert known - asked - rare == set()


def test_an_increase_counts_the_event_with_which_its_counter_came_into_being() -> None:
    """That is one sample and no increase: of two refused messages nothing was to be seen."""
    for where, query in queries():
        told = " ".join(query.split())
        for counter, span in re.findall(r"increase\(([^\[]+)\[([^\]]+)\]\)", told):
            assert f"({counter} unless {counter} offset {span}) or increase({counter}[{span}])" in told, where


def test_a_counter_that_is_not_there_silences_no_alert() -> None:
    """One that compares it with a floor takes 0 for it; and a sum with nothing is nothing."""
    for rule in rules():
        told = " ".join(rule["expr"].split())
        if re.search(r"_total.*(==|<)", told):
            assert "or vector(0)" in told, rule["alert"]
        assert not re.search(r"_total.* [-+] .*_total", told), rule["alert"]


@pytest.mark.row("TM-02")
def test_an_alert_names_each_periodic_task_by_the_age_that_it_may_have() -> None:
    [alert] = [rule for rule in rules() if rule["alert"] == "BerthmasterNoTicks"]
    labels = dict(named(alert["expr"]))
    assert labels == {"berthmaster_tick_age_seconds": {"task"}, "berthmaster_tick_period_seconds": {"task"}}
    assert WorkerSettings(cluster="test").tick_periods.keys() == {
        task for task, queue in routing.QUEUES.items() if queue == routing.MAINTENANCE
    } - {routing.POOLS_SCALE_UP}


def test_what_no_process_exports_is_noticed() -> None:
    assert list(named('sum by (pool) (rate(x_total{a="b"}[$__rate_interval])) / on (c) y')) == [
        ("x_total", {"a", "pool"}),
        ("y", {"c"}),
    ]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_one_that_grafana_takes(path: Path) -> None:
    told = dashboard(path)
    assert told["schemaVersion"] == dashboard(DASHBOARDS[0])["schemaVersion"]
    numbers = [panel["id"] for panel in told["panels"]]
    assert len(numbers) == len(set(numbers))
    variables = {variable["name"] for variable in told["templating"]["list"]}
    assert "datasource" in variables
    for panel in panels(path):
        sources = {source["datasource"]["uid"] for source in [panel, *panel["targets"]]}
        assert sources == {"${datasource}"}
        used = {name for target in panel["targets"] for name in re.findall(r"\$(\w+)", target["expr"])}
        assert used - {"__rate_interval"} <= variables


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_no_panel_covers_another(path: Path) -> None:
    covered: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in dashboard(path)["panels"]):
        own = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert max(x for x, _ in own) < 24
        assert not own & covered
        covered |= own


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_what_a_query_is_grouped_by_is_in_its_legend(path: Path) -> None:
    for panel in panels(path):
        for target in panel["targets"]:
            said = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            grouped = re.match(r"(?:histogram_quantile\([\d.]+, )?(?:sum|max) by \(([^)]*)\)", target["expr"])
            labels = {label.strip() for label in grouped[1].split(",")} - {"le"} if grouped else set()
            assert said == labels, (panel["title"], target["expr"])


def test_the_uids_and_names_are_those_of_one_thing() -> None:
    uids = [dashboard(path)["uid"] for path in DASHBOARDS]
    names = [rule["alert"] for rule in rules()]
    assert len(set(uids)) == len(uids)
    assert len(set(names)) == len(names)


def test_every_alert_says_how_bad_it_is_and_what() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule["alert"]
        assert rule["annotations"]["summary"], rule["alert"]
