"""The files in deploy/crds say what the models say, and judge a spec as the model does."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from berthmaster.kinds import PORT_POOL
from compose.sandbox.kube.pruning import defaulted
from compose.sandbox.kube.rules import broken
from compose.sandbox.kube.schema import faults
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.port_pool_rules import RULES
from domain.spec_errors import spec_problem
from scripts import crds

Json = dict[str, Any]
FOLDER = Path(__file__).parents[2] / "deploy" / "crds"
SCHEMA: Json = crds.custom_resource(PORT_POOL)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]

ports = st.integers(0, 65536) | st.integers(6999, 7002)
lists = st.lists(st.sampled_from(["a", "b", ""]), max_size=3)
parameters = st.fixed_dictionaries({}, optional={"subnets": lists, "scheme": st.sampled_from(["internal", "public"])})
growth = st.fixed_dictionaries(
    {},
    optional={"enabled": st.booleans(), "maxLoadBalancers": st.integers(0, 1001), "parameters": parameters},
)
specs = st.fixed_dictionaries(
    {"region": st.sampled_from(["eu-central-1", ""]), "vpcId": st.just("vpc-1"), "startPort": ports},
    optional={
        "endPort": ports,
        "listenerQuota": st.integers(0, 51),
        "lbPolicy": st.sampled_from(["InOrder", "Uniform", "Random", "Best"]),
        "loadBalancers": lists,
        "autoCreate": growth,
        "healthCheck": st.fixed_dictionaries({}, optional={"port": ports, "intervalSeconds": st.integers(4, 301)}),
    },
)


def model_faults(spec: Json) -> str:
    try:
        PortPoolSpec.model_validate(spec)
    except ValidationError as error:
        return spec_problem(error)
    return ""


def server_faults(spec: Json) -> list[str]:
    whole = defaulted(SCHEMA, spec)
    return list(faults(SCHEMA, whole, "spec")) or list(broken(SCHEMA, whole, None, "spec"))


@pytest.mark.row("EV-20")
def test_the_files_are_what_the_generator_writes() -> None:
    assert crds.stale(FOLDER) == [], "run `make crds`"


@pytest.mark.row("EV-20")
def test_a_file_that_was_edited_is_missing_or_is_left_over_is_noticed(tmp_path: Path) -> None:
    assert crds.stale(tmp_path) == sorted(crds.files())
    crds.write(tmp_path)
    assert crds.stale(tmp_path) == []
    written = tmp_path / "portpools.berthmaster.dev.yaml"
    written.write_text(written.read_text().replace("maximum: 50", "maximum: 51"))
    (tmp_path / "old.yaml").write_text("kind: CustomResourceDefinition")
    assert crds.stale(tmp_path) == ["old.yaml", "portpools.berthmaster.dev.yaml"]


@pytest.mark.row("EV-20")
@pytest.mark.parametrize(("arguments", "status"), [(["--check"], 1), ([], 0)])
def test_checking_writes_nothing(tmp_path: Path, arguments: list[str], status: int) -> None:
    assert crds.main(tmp_path, arguments) == status
    assert bool(list(tmp_path.iterdir())) == (status == 0)


def test_a_definition_has_only_what_a_structural_schema_may_have() -> None:
    text = yaml.safe_dump(crds.definitions())
    for word in ("$ref", "anyOf", "allOf", "title:", "additionalProperties: false", "nullable", "uniqueItems"):
        assert word not in text
    for bound in re.findall(r"exclusiveM.*imum: (.*)", text):
        assert bound == "true", "the numbers of newer dialects are refused by a real API server"


def test_every_field_of_a_spec_is_described() -> None:
    assert [path for path, schema in leaves("spec", SCHEMA) if not schema.get("description")] == []


@pytest.mark.row("EV-20", "PP-01", "PP-02", "PP-03", "PP-07")
@given(specs)
def test_the_api_server_refuses_what_the_model_refuses_and_nothing_else(spec: Json) -> None:
    assert bool(server_faults(copy.deepcopy(spec))) == bool(model_faults(spec)), model_faults(spec)


@pytest.mark.row("PP-02", "PP-03")
@given(specs)
def test_both_judges_say_the_same_words(spec: Json) -> None:
    words, messages = model_faults(spec), "\n".join(server_faults(copy.deepcopy(spec)))
    for rule in RULES:
        assert (rule.message in words) == (rule.message in messages)
        assert rule.message.startswith(rule.field)


def leaves(path: str, schema: Json) -> Iterator[tuple[str, Json]]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from leaves(f"{path}.{name}", inner)
