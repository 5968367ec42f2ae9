"""What every kind of test shares: real servers, started once a session."""

pytest_plugins = ["tests.fixtures.redis", "tests.fixtures.kube", "tests.fixtures.aws"]
