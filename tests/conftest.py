"""What every kind of test shares: real servers, started once a session, and no deadline for an example of a property.

Machines are shared and slow at times: a slow example is no fault, and each test has its own time limit. The
suite tries the same examples each time; `pytest --hypothesis-profile=search` tries others.
"""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from berthmaster.redis.refusals import spell

pytest.register_assert_rewrite("tests.support")  # else what is wrong is not said where it is asserted there
pytest_plugins = [
    "tests.fixtures.redis",
    "tests.fixtures.kube",
    "tests.fixtures.aws",
    "tests.fixtures.processes",
    "tests.fixtures.browser",
    "tests.fixtures.helm",
    "tests.fixtures.rabbitmq",
    "tests.fixtures.optional_parts",
]
# Some images forbid to write bytecode: each process that a test starts would then compile all of our code again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
settings.register_profile("search", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _spell() -> Iterator[None]:
    """A Redis that refused one test's process is not the one that the next test asks."""
    yield
    spell.answers.clear()
