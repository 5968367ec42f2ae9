"""What a pod's author writes has a length, and what is kept of it has a limit."""

from __future__ import annotations

from datetime import timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.kubernetes.names import CERTIFICATE, PORTS, PORTS_MESSAGE, PORTS_RETAIN
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.pod import INPUTS, LIMITS, Outputs, PodView
from domain.ports.request import RequestError, parse_ports, wants_of
from domain.ports.retain_annotation import parse_retention
from domain.spec_errors import spec_problem
from domain.status import Condition
from events.protocol.schemas import pod_snapshot
from events.publisher.failures import failure
from events.publisher.resources import pods
from events.publisher.sender import entry
from tests.support.pods.pods import pod
from tests.unit.ports.worlds import kinds, world

HUGE = 200_000


def view(**annotations: str) -> PodView:
    notes = {PORTS: "7777/UDP@arena"} | {
        f"berthmaster.dev/{name.replace('_', '-')}": v for name, v in annotations.items()
    }
    return PodView.from_snapshot(7, pod_snapshot(pod("a", annotations=notes)))


@pytest.mark.row("HO-03")
def test_three_hundred_patches_of_a_long_annotation_add_little_to_stream_and_snapshot() -> None:
    written = 0
    for version in range(300):
        notes = {PORTS: "7777/UDP@arena", "berthmaster.dev/x": f"{version}" + "x" * HUGE}
        item = pods().item(pod("a", annotations=notes, resourceVersion=str(version + 1)))
        written += len(entry(pods(), item.mark, 1, "2026-01-01T00:00:00+00:00", HUGE))
    assert written < 300 * 1024


@pytest.mark.row("HO-03")
@pytest.mark.parametrize("name", INPUTS)
def test_a_request_that_is_too_long_is_refused_with_name_length_and_limit(name: str) -> None:
    notes = {PORTS: "7777/UDP@arena"} | {name: "1/UDP@a" + "," * HUGE}
    seen = PodView.from_snapshot(7, pod_snapshot(pod("a", annotations=notes)))
    assert len(orjson.dumps(pod_snapshot(pod("a", annotations=notes)))) < 1024
    with pytest.raises(RequestError) as refused:
        wants_of(seen)
    assert str(refused.value) == (f"{name} has {HUGE + 7} characters, at most {LIMITS[name]} are read: shorten it")


@pytest.mark.row("HO-03")
def test_an_annotation_as_long_as_its_limit_is_read() -> None:
    text = "7777/UDP@arena"
    assert wants_of(view(ports=text + "," * (LIMITS[PORTS] - len(text)))) == parse_ports(text)
    with pytest.raises(RequestError, match="at most 16384 are read"):
        parse_ports(text + "," * (LIMITS[PORTS] - len(text) + 1))


@pytest.mark.row("HO-03")
def test_what_is_left_of_a_long_value_is_no_shorter_request() -> None:
    seen = view(ports="1/UDP@a," + " " * HUGE, ports_retain="true" + " " * HUGE, certificate_arn="arn" + " " * HUGE)
    with pytest.raises(RequestError):
        parse_ports(seen.annotations[PORTS])
    with pytest.raises(RequestError):
        parse_retention(seen.annotations[PORTS_RETAIN], timedelta(hours=1))
    assert seen.annotations[CERTIFICATE].endswith("…")
    assert not view(endpoints="[]" + " " * 2 * HUGE).shows(Outputs(endpoints="[]"))


@pytest.mark.row("HO-03")
def test_a_snapshot_of_an_older_version_is_cut_when_it_is_read() -> None:
    notes = {PORTS: "1/UDP@a," + " " * HUGE, "berthmaster.dev/x": "x" * HUGE}
    body = pod_snapshot(pod("a")) | {"annotations": notes}
    seen = PodView.from_snapshot(7, body)
    assert (seen.oversized, seen.unknown_annotations) == ({PORTS: HUGE + 8}, ("berthmaster.dev/x",))
    assert PORTS in str(seen.oversize)


@pytest.mark.row("HO-03")
def test_a_request_that_became_too_long_costs_nothing_that_is_held() -> None:
    made = world()
    made.run()
    made.pod(ports="7777/UDP@arena," + " " * HUGE)
    made.run()
    assert made.shown().state == "Failed"
    assert (made.shown().message or "").startswith(f"{PORTS} has {HUGE + 15} characters")
    assert [e.want for e in made.held()] == ["7777/UDP"]
    assert kinds(made.run()) == ["Stop"]


@pytest.mark.row("HO-03")
@given(
    st.dictionaries(st.sampled_from([*LIMITS, "berthmaster.dev/y", "other/x"]), st.text(), max_size=6),
    st.integers(0, 5),
)
def test_whatever_is_written_a_snapshot_of_it_is_read_as_the_same(notes: dict[str, str], power: int) -> None:
    long = {name: value * 10**power for name, value in notes.items()}
    body = orjson.loads(orjson.dumps(pod_snapshot(pod("a", annotations=long))))
    seen = PodView.from_snapshot(1, body)
    assert all(len(value) <= LIMITS[name] for name, value in seen.annotations.items())
    again = pod_snapshot(pod("a", annotations=long))
    assert (dict(seen.annotations), dict(seen.oversized)) == (again["annotations"], again.get("oversized", {}))


@pytest.mark.row("HO-03")
def test_what_we_write_for_people_is_short_however_long_its_cause_is() -> None:
    assert (
        len(Condition(type="Valid", status="False", reason="Invalid", message="x" * HUGE).message)
        == LIMITS[PORTS_MESSAGE]
    )
    failed = failure({"involvedObject": {"kind": "x" * HUGE, "name": "y" * HUGE}, "message": "z" * HUGE})
    assert len(failed.model_dump_json()) < 2048


@pytest.mark.row("HO-03")
def test_a_spec_with_a_long_unknown_field_is_refused_in_few_words() -> None:
    with pytest.raises(ValidationError) as refused:
        PortPoolSpec.model_validate({"x" * HUGE: 1})
    assert len(spec_problem(refused.value)) < 1024
