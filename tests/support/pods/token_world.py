"""What the pods of a pool can do in Redis with their passwords."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from domain.kubernetes.names import RUNNER_TOKEN
from domain.pod_pools.runner_token import digest, parse_token
from tests.support.pods.pod_pool_world import PodPoolWorld
from workers.stores.slots.user import RunnerUser

Json = dict[str, Any]
SECRET = "runner-token"  # noqa: S105 - its name
TOKEN_SPEC = {"secretName": SECRET}
PASSWORD = "BERTHMASTER_RUNNER__REDIS__PASSWORD"  # noqa: S105 - the name of a variable


def text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def token_condition(pool: PodPoolWorld) -> Json | None:
    """The condition RunnerToken of the pool's status."""
    return next((condition for condition in pool.status()["conditions"] if condition["type"] == "RunnerToken"), None)


def environment(pod: Json) -> dict[str, Json]:
    return {variable["name"]: variable for variable in pod["spec"]["containers"][0].get("env") or []}


class TokenWorld:
    """Around a pool with a `runnerToken`."""

    def __init__(self, pool: PodPoolWorld) -> None:
        self.pool, self.path = pool, f"/api/v1/namespaces/{pool.namespace}/secrets"
        self.user = RunnerUser(pool.redis, f"{pool.namespace}/runners").name

    def rotate_after(self, after: str) -> None:
        self.pool.change(runnerToken={"secretName": SECRET, "rotateAfter": after})

    def rotate(self) -> None:
        """Do one run in which the token is too old."""
        self.rotate_after("0s")
        self.pool.run()
        self.rotate_after("24h")

    def secret(self) -> Json:
        secret: Json = self.pool.api.get(f"{self.path}/{SECRET}")
        return secret

    def stored(self) -> dict[str, str]:
        """Token -> digest."""
        data = self.secret().get("data") or {}
        return {name: digest(b64decode(value).decode()) for name, value in data.items()}

    def good(self) -> set[str]:
        """Digests of the passwords that Redis accepts."""
        user: Any = self.pool.redis.acl_getuser(self.user)
        return {text(password) for password in user["passwords"]} if user else set()

    def exists(self) -> bool:
        users: Any = self.pool.redis.acl_users()
        return self.user in {text(user) for user in users}

    def carried(self) -> dict[str, str]:
        """The token that each pod's container gets, '' for none."""
        tokens = {}
        for pod in self.pool.pods():
            password = environment(pod).get(PASSWORD)
            tokens[pod["metadata"]["name"]] = password["valueFrom"]["secretKeyRef"]["key"] if password else ""
        return tokens

    def locked_out(self) -> list[str]:
        """Pods whose password Redis refuses, or whose containers could not start again."""
        stored, good, names = None, self.good(), []
        for pod in self.pool.pods():
            if not (token := parse_token(pod["metadata"]["annotations"].get(RUNNER_TOKEN))):
                continue
            stored = stored or self.stored()
            if stored.get(token.name) != token.digest or token.digest not in good:
                names.append(pod["metadata"]["name"])
        return names

    def lose_user(self) -> None:
        """Lose the user, as a restart of Redis does."""
        self.pool.redis.acl_deluser(self.user)
