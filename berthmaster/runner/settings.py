"""Settings of a runner: `BERTHMASTER_RUNNER__*` variables, which the pool's worker writes into its pods."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlsplit, urlunsplit

from click import ClickException
from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from berthmaster.duration import Duration
from berthmaster.forms import fault_in_words
from berthmaster.redis.settings import RedisSettings
from berthmaster.runner.log import FEWEST


def sufficient(log_bytes: int) -> int:
    """Return how many bytes a log may have. Raises ValueError for so few that it would lose its latest lines."""
    if log_bytes and log_bytes < FEWEST:
        raise ValueError(f"a log needs {FEWEST} bytes, or 0 for no logs")
    return log_bytes


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

    log_bytes: Annotated[int, AfterValidator(sufficient)] = 256 * 1024
    """Bytes of what an attempt prints that are kept, the latest ones: at least 32 KiB; 0 keeps nothing."""

    pool_log_bytes: int = Field(default=16 * 1024 * 1024, ge=0)
    """Bytes of all logs of the pool, with 4.5 KiB for each log. Beyond it, logs go of jobs that have
    printed nothing for the longest time."""


class NotARunner(ClickException):
    """The environment is not that of a runner. `celery worker` prints the message alone, and ends with status 2."""

    exit_code = 2


def settings_of_pod() -> RunnerSettings:
    """Return the settings that the pod's environment has. Raises NotARunner, which names the variables."""
    try:
        return RunnerSettings()
    except ValidationError as error:
        raise NotARunner(mistakes(error)) from None


def mistakes(error: ValidationError) -> str:
    """Return what is wrong with the variables, in one line."""
    prefix, missing, texts = RunnerSettings.model_config["env_prefix"], list[str](), list[str]()
    for mistake in error.errors():
        name = prefix + "__".join(map(str, mistake["loc"])).upper()
        if mistake["type"] == "missing":
            missing.append(name)
        else:
            texts.append(f"{name}: {fault_in_words(mistake)}")
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        why = "only a pod of a PodPool has them, and only there runners run"
        texts.append(f"{', '.join(missing)} {verb} missing: {why}")
    return "; ".join(texts)
