"""The custom resource definitions say what the models say, and the models refuse what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from domain.ports.pool import PortPoolSpec
from domain.ports.pool_status import LoadBalancerLine, pool_status
from scripts.crds import port_pool, stale, write
from scripts.structural_schema import structural

REPOSITORY = Path(__file__).parents[2]
FORBIDDEN = {"$ref", "$defs", "title", "anyOf", "oneOf", "allOf", "const"}
MISPLACED = {"array": {"maxLength", "minLength", "pattern"}, "string": {"maxItems", "minItems", "maximum", "minimum"}}
Json = dict[str, Any]


def schema() -> Json:
    version: Json = port_pool()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return version


def inner(node: Any) -> list[Json]:
    """Every schema within a schema; names of properties are not keywords."""
    if not isinstance(node, dict):
        return []
    below = [*(node.get("properties") or {}).values(), node.get("items"), node.get("additionalProperties")]
    return [node, *(found for each in below for found in inner(each))]


@pytest.mark.row("EV-20")
def test_the_files_are_those_that_the_models_give() -> None:
    assert stale(REPOSITORY / "deploy" / "crds") == []


@pytest.mark.row("EV-20")
def test_a_file_that_was_changed_is_missing_or_is_too_many_is_stale(tmp_path: Path) -> None:
    write(tmp_path)
    assert stale(tmp_path) == []
    (tmp_path / "more.yaml").write_text("kind: Other\n", encoding="utf-8")
    changed = next(tmp_path.glob("portpools*.yaml"))
    changed.write_text(changed.read_text(encoding="utf-8").replace("65535", "65534"), encoding="utf-8")
    assert stale(tmp_path) == ["more.yaml", changed.name]


def test_the_schema_is_structural() -> None:
    for part in inner(schema()["spec"]):
        assert not FORBIDDEN & part.keys()
        assert "type" in part
        assert not MISPLACED.get(part["type"], set()) & part.keys()


def test_what_may_be_absent_has_its_own_type_and_no_default() -> None:
    optional = {"anyOf": [{"type": "integer", "maximum": 5}, {"type": "null"}], "default": None, "description": "x"}
    assert structural({"type": "object", "properties": {"a": optional}}) == {
        "type": "object",
        "properties": {"a": {"type": "integer", "maximum": 5, "description": "x"}},
    }


def test_every_field_of_the_model_is_in_the_schema() -> None:
    fields = {field.alias for field in PortPoolSpec.model_fields.values()}
    assert schema()["spec"]["properties"].keys() == fields


def test_the_whole_status_that_we_write_is_kept() -> None:
    """The API server drops fields that the schema does not know."""
    line = LoadBalancerLine("lb", "arn", "dns", allocated=1, capacity=50, auto_created=True, foreign=0)
    status = pool_status("Active", "3", 1, [line], 1, "why")
    known = schema()["status"]["properties"]
    assert status.keys() <= known.keys()
    assert status["loadBalancers"][0].keys() <= known["loadBalancers"]["items"]["properties"].keys()
    assert status["conditions"][0].keys() <= known["conditions"]["items"]["properties"].keys()
