"""A list against what Redis knows."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.publisher.diff import difference
from events.publisher.history import NewHistoryError, require_history
from events.publisher.resources import ListedObject, pods
from events.workqueue import Mark, StoredVersion
from tests.support.pods.pods import pod

HISTORY = 2
KEYS = [f"pod/games/{name}" for name in "abc"]


def listed(name: str, version: int = 5, ports: str | None = "7777/UDP@arena") -> ListedObject:
    return pods().item(pod(name, ports=ports, resourceVersion=str(version)))


def keys(marks: list[Mark]) -> list[str]:
    return [mark.key for mark in marks]


@pytest.mark.row("EV-01")
def test_what_redis_has_already_is_not_marked_again() -> None:
    assert list(difference([listed("a", 5)], {"pod/games/a": StoredVersion(5, "u", gone=False)}, 9)) == []


def test_what_is_newer_than_in_redis_is_marked() -> None:
    assert keys(list(difference([listed("a", 6)], {"pod/games/a": StoredVersion(5, "u", gone=False)}, 9))) == [
        "pod/games/a"
    ]


@pytest.mark.row("BD-02")
def test_a_pod_that_did_not_opt_in_and_is_unknown_costs_nothing() -> None:
    assert list(difference([listed("a", ports=None)], {}, 9)) == []


@pytest.mark.row("EV-04")
def test_a_known_pod_that_took_its_annotation_away_is_marked() -> None:
    marks = list(difference([listed("a", 6, ports=None)], {"pod/games/a": StoredVersion(5, "u", gone=False)}, 9))
    assert keys(marks) == ["pod/games/a"]
    assert not marks[0].gone


@pytest.mark.row("FZ-05")
def test_a_known_pod_that_the_list_lacks_is_gone_at_the_lists_version_under_the_uid_that_redis_knows() -> None:
    """Rule goneversion."""
    (mark,) = difference([], {"pod/games/a": StoredVersion(5, "u1", gone=False)}, 9)
    assert (mark.version, mark.uid, mark.gone) == (9, "u1", True)
    assert orjson.loads(mark.body) == {"namespace": "games", "name": "a", "uid": "u1"}


def test_a_pool_that_is_gone_has_no_namespace() -> None:
    (mark,) = difference([], {"portpool/arena": StoredVersion(5, "u1", gone=False)}, 9)
    assert orjson.loads(mark.body) == {"name": "arena", "uid": "u1"}


def test_what_redis_knows_to_be_gone_is_not_marked_again() -> None:
    assert list(difference([], {"pod/games/a": StoredVersion(5, "u1", gone=True)}, 9)) == []


versions = st.integers(1, 9)
known = st.dictionaries(
    st.sampled_from(KEYS),
    st.builds(StoredVersion, versions, st.just("u"), st.booleans(), st.sampled_from([HISTORY, HISTORY - 1])),
)
lists = st.lists(st.builds(listed, st.sampled_from("abc"), versions), unique_by=lambda item: item.mark.key)


@given(lists, known)
def test_after_its_marks_redis_has_what_the_list_has(
    items: list[ListedObject], redis: dict[str, StoredVersion]
) -> None:
    after = dict(redis)
    for mark in difference(items, redis, 10, HISTORY):
        before = after.get(mark.key)
        assert before is None or before.history != HISTORY or mark.version > before.version
        after[mark.key] = StoredVersion(mark.version, mark.uid, mark.gone, HISTORY)
    assert {item.mark.key for item in items} <= set(after)
    live = {key for key, one in after.items() if not one.gone}
    own = {key: old for key, old in redis.items() if old.history == HISTORY}
    older = {i.mark.key for i in items if i.mark.key in own and own[i.mark.key].version >= i.mark.version}
    assert live - older == {item.mark.key for item in items} - older


def known_now(
    version: int, uid: str = "uid-of-a", gone: bool = False, history: int = HISTORY
) -> dict[str, StoredVersion]:
    return {"pod/games/a": StoredVersion(version, uid, gone, history)}


@pytest.mark.row("KU-11")
@pytest.mark.parametrize(
    "items, known, version",
    [
        ([listed("a", 5)], known_now(6), 9),
        ([listed("a", 5)], known_now(6, gone=True), 9),
        ([listed("a", 5)], known_now(5, uid="another"), 9),
        ([], known_now(10), 9),
        ([], known_now(10, gone=True), 9),
        ([], known_now(9), 9),
    ],
    ids=["older", "alive again", "another UID", "list behind", "list behind an end", "missing at its own version"],
)
def test_a_list_that_contradicts_what_was_known_before_it_is_of_another_history(
    items: list[ListedObject], known: dict[str, StoredVersion], version: int
) -> None:
    """Rule newhistory."""
    with pytest.raises(NewHistoryError):
        require_history(items, known, version, HISTORY)


@pytest.mark.row("KU-11")
@pytest.mark.parametrize(
    "items, known",
    [
        ([listed("a", 5)], known_now(5)),
        ([listed("a", 6)], known_now(5, uid="another")),
        ([], known_now(8)),
        ([], known_now(9, gone=True)),
        ([listed("a", 5)], known_now(6, history=HISTORY - 1)),
        ([], known_now(10, history=HISTORY + 1)),
    ],
    ids=["same", "made anew", "deleted since", "ended with that list", "of the history before", "of a Redis restored"],
)
def test_what_one_history_can_bring_is_no_other(items: list[ListedObject], known: dict[str, StoredVersion]) -> None:
    require_history(items, known, 9, HISTORY)


@pytest.mark.row("KU-11")
def test_what_redis_has_of_another_history_is_marked_whatever_its_version() -> None:
    of_before = known_now(50, history=HISTORY - 1)
    assert keys(list(difference([listed("a", 5)], of_before, 9, HISTORY))) == ["pod/games/a"]
    assert [mark.gone for mark in difference([], of_before, 9, HISTORY)] == [True]
    assert [mark.gone for mark in difference([], known_now(50, gone=True, history=1), 9, HISTORY)] == [True]
