"""The rules intent and pre: the shortest history that breaks each, forced on the real run of a set.

On both Kubernetes servers. A run stands still right before a request, others do their work, and it goes on.
"""

from __future__ import annotations

from typing import Any

import pytest

from events.kube.api import KubeApi
from tests.integration.claim_sets.conftest import MakeSet
from tests.support.claims.claim_set_world import ClaimSetWorld
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.faults.interruption import Killed


def three_of_which_one_goes(make_set: MakeSet) -> ClaimSetWorld:
    world = make_set(3)
    world.settle()
    world.scale(2)
    return world


@pytest.mark.row("WC-29", "WC-30")
@pytest.mark.parametrize(
    ("method", "part"), [("PATCH", "/podclaimsets/db/status"), ("DELETE", "/podclaims/")], ids=["record", "delete"]
)
def test_two_that_choose_different_claims_remove_one(make_set: MakeSet, method: str, part: str) -> None:
    """Rule intent: the first chooses the newest, which then begins to move; the second chooses another."""
    world = three_of_which_one_goes(make_set)

    def others() -> None:
        world.move("db-2")
        world.run()
        world.has_moved("db-2")

    world.standing_still(method, part, others)
    assert len(world.live()) == 2
    world.settle()
    assert len(world.live()) == 2


@pytest.mark.row("WC-29")
def test_a_record_that_comes_late_is_refused(make_set: MakeSet) -> None:
    """Rule intent: another was chosen meanwhile, and nothing was written on the first."""
    world = three_of_which_one_goes(make_set)

    def others() -> None:
        world.set_cost("db-2", 100)
        world.run()
        assert world.live() == {"db-0", "db-2"}

    before = world.claim("db-2")["metadata"]["resourceVersion"]
    world.standing_still("PATCH", "/podclaimsets/db/status", others)
    assert world.live() == {"db-0", "db-2"}
    assert world.claim("db-2")["metadata"]["resourceVersion"] == before  # it never had to be spared


@pytest.mark.row("WC-29")
def test_a_claim_that_begins_to_move_before_it_is_deleted_stays(make_set: MakeSet) -> None:
    """Rule pre. Field bug MO#591: scale-in in the middle of a migration."""
    world = three_of_which_one_goes(make_set)
    world.standing_still("DELETE", "/podclaims/", lambda: world.move("db-2"))
    assert world.live() == {"db-0", "db-2"}
    assert world.claim("db-2")["spec"]["sourcePod"]["podName"] == world.pods["db-2"]


@pytest.mark.row("WC-29")
def test_claims_that_all_move_are_all_kept(make_set: MakeSet) -> None:
    """Field bug MO#591, from the moment between the choice and the deletion."""
    world = three_of_which_one_goes(make_set)

    def all_move() -> None:
        for name in world.live():
            world.move(name)

    world.standing_still("DELETE", "/podclaims/", all_move)
    assert len(world.live()) == 3
    assert world.status["replicas"] == 3
    assert not world.status["removing"]


@pytest.mark.row("WC-29", "WC-31")
def test_a_late_deletion_finds_a_claim_that_was_spared_changed(make_set: MakeSet) -> None:
    """Rules intent and pre: it is recorded, then wanted again; another is chosen meanwhile, for another reason."""
    world = three_of_which_one_goes(make_set)

    def wanted_again_and_another_removed() -> None:
        world.scale(3)
        world.run()
        assert len(world.live()) == 3
        world.set_cost("db-2", 100)
        world.scale(2)
        world.run()
        assert world.live() == {"db-0", "db-2"}

    world.standing_still("DELETE", "/podclaims/", wanted_again_and_another_removed)
    assert world.live() == {"db-0", "db-2"}


@pytest.mark.row("WC-29")
def test_a_claim_made_anew_by_its_name_is_not_deleted_for_the_old_one(make_set: MakeSet) -> None:
    """Rule pre: the UID counts."""
    world = three_of_which_one_goes(make_set)

    def removed_and_made_again() -> None:
        world.run()
        assert world.live() == {"db-0", "db-1"}
        world.scale(3)
        world.run()

    world.standing_still("DELETE", "/podclaims/", removed_and_made_again)
    assert world.live() == {"db-0", "db-1", "db-2"}


@pytest.mark.row("WC-29", "WC-35")
@pytest.mark.parametrize(("method", "part"), [("PATCH", "/podclaimsets/"), ("DELETE", "/podclaims/")])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_run_that_dies_before_a_write_leaves_the_rest_to_the_next(
    make_set: MakeSet, method: str, part: str, nth: int
) -> None:
    world = make_set(4)
    world.settle()
    world.scale(2)
    whole, left = world.services, [nth]

    def die(_: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise Killed

    world.through(InterposedKube(world.api, method, part, die, times=nth))
    with pytest.raises(Killed):
        world.run()
    world.services = whole
    assert len(world.live()) >= 2
    world.lease_ends()
    world.run()
    assert len(world.live()) == 2
    assert not world.status["removing"]


@pytest.mark.row("WC-33")
def test_two_runs_that_both_find_too_few_make_as_many_as_are_wanted(make_set: MakeSet) -> None:
    world = make_set(3)
    world.standing_still("POST", "/podclaims", world.run)
    assert world.live() == {"db-0", "db-1", "db-2"}


@pytest.mark.row("WC-33")
def test_a_late_run_makes_no_claim_more_than_was_wanted(make_set: MakeSet) -> None:
    """It stood still while the set was scaled out, and goes on with what it had decided."""
    world = make_set(2)

    def others() -> None:
        world.scale(4)
        world.run()

    world.standing_still("POST", "/podclaims", others)
    assert world.live() == {"db-0", "db-1", "db-2", "db-3"}
    world.run()
    assert len(world.live()) == 4


class Lagging(KubeApi):
    """Its lists of claims say what they said when they were first asked, for so many times."""

    def __init__(self, api: KubeApi, times: int) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self._times, self._first = times, dict[str, Any]()

    def list(self, path: str, **query: Any) -> dict[str, Any]:
        if not path.endswith("/podclaims"):
            return super().list(path, **query)
        self._first = self._first or super().list(path, **query)
        self._times -= 1
        return self._first if self._times >= 0 else super().list(path, **query)


@pytest.mark.row("WC-33")
@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_list_that_lags_doubles_no_claim_and_removes_none_too_many(make_set: MakeSet, times: int) -> None:
    world = make_set(3)
    whole = world.services
    world.through(Lagging(world.api, times))
    world.run()
    world.services = whole
    assert world.live() >= {"db-0", "db-1", "db-2"}
    world.settle()
    assert len(world.live()) == 3
    world.scale(1)
    world.through(Lagging(world.api, times))
    world.run()
    assert len(world.live()) >= 1
    world.services = whole
    world.settle()
    assert len(world.live()) == 1


@pytest.mark.row("WC-33")
def test_what_redis_remembers_of_a_set_decides_nothing(make_set: MakeSet) -> None:
    """The publisher lags: the set's snapshot is old, and then all of Redis is lost."""
    world = make_set(2)
    world.settle()
    world.redis.flushall()
    assert world.queue.assume_epoch("2:test")
    world.queue.stamp("2:test")
    world.run()
    assert world.live() == {"db-0", "db-1"}
