"""What the pods of a pool could do in Redis with the passwords that they have."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from domain.kubernetes.names import RUNNER_TOKEN
from domain.pod_pools.runner_token import digest, parse_token
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.stores.slots.user import RunnerUser

Json = dict[str, Any]
SECRET = "runner-token"  # noqa: S105 - its name
PASSWORD = "BERTHMASTER_RUNNER__REDIS__PASSWORD"  # noqa: S105 - the name of a variable


def text(told: str | bytes) -> str:
    return told.decode() if isinstance(told, bytes) else told


def environment(pod: Json) -> dict[str, Json]:
    return {each["name"]: each for each in pod["spec"]["containers"][0].get("env") or []}


class TokenWorld:
    """Around a pool with a `runnerToken`."""

    def __init__(self, pool: PodPoolWorld) -> None:
        self.pool, self.path = pool, f"/api/v1/namespaces/{pool.namespace}/secrets"
        self.user = RunnerUser(pool.redis, f"{pool.namespace}/runners").name

    def wish(self, after: str) -> None:
        self.pool.change(runnerToken={"secretName": SECRET, "rotateAfter": after})

    def rotate(self) -> None:
        """One run in which the token is too old."""
        self.wish("0s")
        self.pool.run()
        self.wish("24h")

    def secret(self) -> Json:
        found: Json = self.pool.api.get(f"{self.path}/{SECRET}")
        return found

    def stored(self) -> dict[str, str]:
        """Token -> digest."""
        data = self.secret().get("data") or {}
        return {name: digest(b64decode(value).decode()) for name, value in data.items()}

    def good(self) -> set[str]:
        """Digests of passwords that Redis takes."""
        told: Any = self.pool.redis.acl_getuser(self.user)
        return {text(each) for each in told["passwords"]} if told else set()

    def exists(self) -> bool:
        users: Any = self.pool.redis.acl_users()
        return self.user in {text(each) for each in users}

    def carried(self) -> dict[str, str]:
        """Pod -> token that its container is given, '' for none."""
        found = {}
        for pod in self.pool.pods():
            password = environment(pod).get(PASSWORD)
            found[pod["metadata"]["name"]] = password["valueFrom"]["secretKeyRef"]["key"] if password else ""
        return found

    def locked_out(self) -> list[str]:
        """Pods whose password Redis does not take, or whose containers could not be started (again)."""
        stored, good, found = None, self.good(), []
        for pod in self.pool.pods():
            if not (has := parse_token(pod["metadata"]["annotations"].get(RUNNER_TOKEN))):
                continue
            stored = stored or self.stored()
            if stored.get(has.name) != has.digest or has.digest not in good:
                found.append(pod["metadata"]["name"])
        return found

    def lose_user(self) -> None:
        """As a restart of Redis does."""
        self.pool.redis.acl_deluser(self.user)
