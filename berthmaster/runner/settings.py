"""Settings of a runner: `BERTHMASTER_RUNNER__*` variables, which the pool's worker writes into its pods."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from berthmaster.duration import Duration
from berthmaster.redis.settings import RedisSettings


class RunnerRedis(RedisSettings):
    """The state, and the broker of runners, as the pool's own user sees it."""

    username: str = ""
    """Name of that user; '' means whatever the address says."""

    password: SecretStr = SecretStr("")
    """Its password."""

    @property
    def address(self) -> str:
        """The URL with the user in it."""
        if not self.username:
            return self.url
        parts = urlsplit(self.url)
        secret = quote(self.password.get_secret_value(), safe="")
        place = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{quote(self.username, safe='')}:{secret}@{place}"))


class RunnerSettings(BaseSettings):
    """Who this runner is, and how it reaches the slots of its pool."""

    model_config = SettingsConfigDict(
        env_prefix="BERTHMASTER_RUNNER__",
        env_nested_delimiter="__",
        frozen=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,  # passwords are in addresses
    )

    cluster: str = ""
    """Name of the fleet that the pool belongs to; a Redis of another is refused. '' is not compared."""

    pool: str = Field(pattern=r"^[a-z0-9-]+/[a-z0-9.-]+$")
    """namespace/name of the PodPool."""

    pod: str = Field(min_length=1, max_length=253)
    """Name of the pod."""

    uid: str = Field(min_length=1, max_length=64)
    """UID of the pod; another pod of the same name is another runner."""

    slots: tuple[tuple[str, ...], ...] = ((), ("plan",), ("plan",))
    """What each slot accepts, as JSON; the pool's own."""

    redis: RunnerRedis = RunnerRedis()
    """The state, with the user that reaches only this pool's keys."""

    heartbeat: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """Period of reports; raising it delays cancels and the notice that a runner is lost."""

    spool: Path = Path(tempfile.gettempdir()) / "berthmaster-runner"
    """Where a runner remembers what it runs; it must last as long as the pod."""
