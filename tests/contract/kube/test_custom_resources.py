"""Kinds that CustomResourceDefinitions add: defaults, schema, rules, status and scale."""

from __future__ import annotations

import pytest

from events.kube.api import Conflict, Invalid, NotFound
from tests.contract.kube.definitions import DEFINITIONS, Thing, definition, served_thing
from tests.contract.kube.objects import Json, version_of
from tests.fixtures.kube import Kube
from tests.support.waiting import eventually


def test_defaults_are_filled_in_and_unknown_fields_dropped(kube: Kube, thing: Thing) -> None:
    made = kube.api.create(
        thing.path(kube),
        thing.body(unheard=1, free={"any": [1]}, labels={"a": "b"}, inner={"times": None, "wait": None}),
    )
    assert made["spec"] == {
        "size": 3,
        "region": "eu-1",
        "start": 1,
        "policy": "InOrder",
        "free": {"any": [1]},
        "labels": {"a": "b"},
        "inner": {"wait": "5m", "times": None},
    }
    assert made["metadata"]["generation"] == 1
    assert made["apiVersion"] == "things.dev/v1alpha1"


def test_strict_writes_refuse_unknown_fields(kube: Kube, thing: Thing) -> None:
    with pytest.raises(Invalid, match=r'unknown field "spec\.unheard"'):
        kube.api.request("POST", thing.path(kube), thing.body(unheard=1), {"fieldValidation": "Strict"})


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"size": 0}, r"spec\.size: Invalid value: 0: spec\.size in body should be greater than or equal to 1"),
        ({"size": 51}, r"spec\.size in body should be less than or equal to 50"),
        ({"size": "3"}, r"spec\.size in body must be of type integer"),
        ({"size": None}, r"spec\.size: Required value"),
        ({"policy": "Best"}, r'spec\.policy: Unsupported value: "Best": supported values: "InOrder", "Random"'),
        ({"region": "EU"}, r"spec\.region in body should match"),
        ({"region": ""}, r"spec\.region"),
        ({"region": "aaaaaaaaaaaaaaaaaaaaaaaaaaaa-1"}, r"spec\.region: Too long"),
        ({"names": ["a", "b", "c", "d"]}, r"spec\.names: Too many: 4: must have at most 3 items"),
        ({"names": ["a", "a"]}, r'spec\.names\[1\]: Duplicate value: "a"'),
        ({"names": [1]}, r"spec\.names\[0\]"),
        ({"share": 0}, r"spec\.share in body should be greater than 0"),
        ({"labels": {"a": 1}}, r"spec\.labels\.a"),
        ({"start": 5, "end": 5}, r"end must be greater than start"),
    ],
)
@pytest.mark.row("PP-01", "PP-02")
def test_an_object_that_breaks_its_schema_is_refused(kube: Kube, thing: Thing, spec: Json, message: str) -> None:
    with pytest.raises(Invalid, match=message) as raised:
        kube.api.create(thing.path(kube), thing.body(**spec))
    assert raised.value.status == 422


@pytest.mark.row("PP-04")
def test_a_rule_about_the_old_object_holds_for_updates_only(kube: Kube, thing: Thing) -> None:
    made = kube.api.create(thing.path(kube), thing.body())
    with pytest.raises(Invalid, match="region cannot be changed"):
        kube.api.patch(thing.path(kube, "a"), {"spec": {"region": "us-1"}})
    with pytest.raises(Invalid, match="pinned stays in eu-1"):
        kube.api.patch(thing.path(kube, "a"), {"spec": {"pinned": True}})
    assert version_of(kube.api.get(thing.path(kube, "a"))) == version_of(made)


def test_an_update_needs_a_version_and_raises_the_generation(kube: Kube, thing: Thing) -> None:
    made = kube.api.create(thing.path(kube), thing.body())
    with pytest.raises(Invalid, match="must be specified for an update"):
        kube.api.replace(thing.path(kube, "a"), thing.body(size=4))
    made["spec"]["size"] = 4
    assert kube.api.replace(thing.path(kube, "a"), made)["metadata"]["generation"] == 2
    with pytest.raises(Conflict):
        kube.api.replace(thing.path(kube, "a"), made)
    labelled = kube.api.patch(thing.path(kube, "a"), {"metadata": {"labels": {"k": "v"}}})
    assert labelled["metadata"]["generation"] == 2


def test_the_status_is_apart_from_the_rest(kube: Kube, thing: Thing) -> None:
    made = kube.api.create(thing.path(kube), {**thing.body(), "status": {"state": "Early"}})
    assert "status" not in made
    patch = {"spec": {"size": 9}, "metadata": {"labels": {"k": "v"}}, "status": {"state": "Active", "unheard": 1}}
    status = kube.api.patch(thing.path(kube, "a") + "/status", patch)
    assert status["status"] == {"state": "Active"}
    assert status["spec"]["size"] == 3
    assert "labels" not in status["metadata"]
    assert status["metadata"]["generation"] == 1
    main = kube.api.patch(thing.path(kube, "a"), {"spec": {"size": 9}, "status": {"state": "Other"}})
    assert main["status"] == {"state": "Active"}
    assert main["metadata"]["generation"] == 2
    with pytest.raises(Invalid):
        kube.api.patch(thing.path(kube, "a") + "/status", {"status": {"state": 1}})


def test_a_stale_status_conflicts(kube: Kube, thing: Thing) -> None:
    version = version_of(kube.api.create(thing.path(kube), thing.body()))
    kube.api.patch(thing.path(kube, "a"), {"spec": {"size": 4}})
    with pytest.raises(Conflict):
        kube.api.patch(
            thing.path(kube, "a") + "/status", {"metadata": {"resourceVersion": version}, "status": {"state": "Active"}}
        )


def test_the_scale_shows_and_sets_replicas(kube: Kube, thing: Thing) -> None:
    kube.api.create(thing.path(kube), thing.body())
    kube.api.patch(thing.path(kube, "a") + "/status", {"status": {"replicas": 2, "selector": "app=x"}})
    scale = kube.api.get(thing.path(kube, "a") + "/scale")
    assert (scale["spec"]["replicas"], scale["status"]) == (3, {"replicas": 2, "selector": "app=x"})
    kube.api.patch(thing.path(kube, "a") + "/scale", {"spec": {"replicas": 7}})
    assert kube.api.get(thing.path(kube, "a"))["spec"]["size"] == 7
    scale["spec"]["replicas"] = 5
    with pytest.raises(Conflict):
        kube.api.replace(thing.path(kube, "a") + "/scale", scale)


def test_a_dry_run_judges_and_stores_nothing(kube: Kube, thing: Thing) -> None:
    kube.api.request("POST", thing.path(kube), thing.body(), {"dryRun": "All"})
    with pytest.raises(NotFound):
        kube.api.get(thing.path(kube, "a"))
    with pytest.raises(Invalid):
        kube.api.request("POST", thing.path(kube), thing.body(size=0), {"dryRun": "All"})


def test_a_definition_whose_rule_does_not_compile_is_refused(kube: Kube) -> None:
    body = definition("brokens", "Broken")
    spec = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        **spec,
        "x-kubernetes-validations": [{"rule": "self.size >"}],
    }
    with pytest.raises(Invalid):
        kube.api.create(DEFINITIONS, body)


def test_a_definition_is_named_by_plural_and_group(kube: Kube) -> None:
    body = definition("misnamed", "Misnamed")
    body["metadata"]["name"] = "other.things.dev"
    with pytest.raises(Invalid, match=r"metadata\.name"):
        kube.api.create(DEFINITIONS, body)


def test_a_kind_goes_with_its_definition_and_its_objects(kube: Kube) -> None:
    with served_thing(kube.api) as thing:
        kube.api.create(thing.path(kube), thing.body())

    def unserved() -> bool:
        try:
            kube.api.get(thing.path(kube))
        except NotFound:
            return True
        return False

    assert eventually(unserved, 30)


def test_a_custom_object_must_say_its_kind(kube: Kube, thing: Thing) -> None:
    body = thing.body()
    del body["kind"]
    with pytest.raises(Invalid, match="Object 'Kind' is missing") as raised:
        kube.api.create(thing.path(kube), body)
    assert raised.value.status == 400
