"""What every kind of test shares: real servers, started once a session, and no deadline for an example of a property.

Machines are shared and slow at times: a slow example is no fault, and each test has its own time limit. The
suite tries the same examples each time; `pytest --hypothesis-profile=search` tries others.
"""

from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.fixtures.redis", "tests.fixtures.kube", "tests.fixtures.aws"]
settings.register_profile("search", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

WHOLE_SYSTEMS = {Path(__file__).parent / kind for kind in ("chaos", "e2e")}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run in several processes, one of them has all that start the whole system: never two at once."""
    for item in items:
        if item.path.parent in WHOLE_SYSTEMS:
            item.add_marker(pytest.mark.xdist_group("whole system"))
