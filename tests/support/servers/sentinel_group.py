"""A master, its replicas and the sentinels that watch them, all on this machine; and what may happen to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from compose.sandbox.daemon import Daemon, answers
from compose.sandbox.free_ports import free_port
from compose.sandbox.redis_server import RedisServer, server_executable
from tests.support.waiting import eventually

MASTER = "berths"
DOWN_AFTER = 1000  # ms


class Member(RedisServer):
    """One that may be a master or a replica."""

    def __init__(self, directory: Path, of: RedisServer | None, password: str, writes_to: int) -> None:
        self.more = ["--repl-diskless-sync-delay", "0", "--min-replicas-to-write", str(writes_to)]
        self.more += ["--masterauth", password] if password else []
        self.more += ["--replicaof", "127.0.0.1", str(of.port)] if of else []
        super().__init__(directory, password=password)

    def command(self) -> list[str]:
        return [*super().command(), *self.more]

    def client(self) -> Redis:
        return Redis(port=self.port, password=self.password or None)

    def role(self) -> str:
        with self.client() as client:
            answer: Any = client.execute_command("ROLE")
            return str(answer[0].decode())


class OneSentinel(Daemon):
    """It writes what it learns into its file, so it may be killed and started again."""

    def __init__(self, directory: Path, master: Member, quorum: int, password: str) -> None:
        self.port, file = free_port(), directory / "sentinel.conf"
        directory.mkdir(parents=True)
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {directory}",
            f"sentinel monitor {MASTER} 127.0.0.1 {master.port} {quorum}",
            f"sentinel down-after-milliseconds {MASTER} {DOWN_AFTER}",
            f"sentinel failover-timeout {MASTER} 4000",
            *([f"sentinel auth-pass {MASTER} {master.password}"] if master.password else []),
            *([f"requirepass {password}", f"sentinel sentinel-pass {password}"] if password else []),
        ]
        file.write_text("\n".join(lines) + "\n")
        self.password = password
        super().__init__("sentinel", [server_executable(), str(file), "--sentinel"], directory)

    def begin(self) -> OneSentinel:
        self.start(lambda: answers(self.port))
        return self

    def client(self) -> Any:
        return Redis(port=self.port, password=self.password or None, decode_responses=True)

    def ask(self, *words: Any) -> Any:
        with self.client() as client:
            return client.execute_command("SENTINEL", *words)

    def knows(self) -> dict[str, Any]:
        found = self.ask("MASTER", MASTER)
        return found if isinstance(found, dict) else dict(zip(found[::2], found[1::2], strict=True))


class SentinelGroup:
    """`start` returns when a failover is possible."""

    def __init__(
        self,
        directory: Path,
        sentinels: int = 3,
        password: str = "",
        theirs: str = "",
        writes_to: int = 0,
        replicas: int = 1,
    ) -> None:
        first = Member(directory / "0", None, password, writes_to)
        others = [Member(directory / f"{n + 1}", first, password, writes_to) for n in range(replicas)]
        self.members, self.password, self.theirs = [first, *others], password, theirs
        quorum = sentinels // 2 + 1
        self.sentinels = [OneSentinel(directory / f"s{n}", first, quorum, theirs) for n in range(sentinels)]

    @property
    def url(self) -> str:
        """As settings have it."""
        user = f":{quote(self.password, safe='')}@" if self.password else ""
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        option = f"?sentinel_password={quote(self.theirs, safe='')}" if self.theirs else ""
        return f"redis+sentinel://{user}{hosts}/{MASTER}/0{option}"

    def start(self) -> SentinelGroup:
        for each in self.members:
            each.start()
        for sentinel in self.sentinels:
            sentinel.begin()
        eventually(self.complete)
        return self

    def stop(self) -> None:
        for sentinel in self.sentinels:
            sentinel.kill()
        for each in self.members:
            each.kill()

    def complete(self) -> bool:
        """Each sentinel knows every other and the replica, which is in step."""
        known = [sentinel.knows() for sentinel in self.sentinels]
        others, replicas = str(len(self.sentinels) - 1), str(len(self.members) - 1)
        told = {(k["num-other-sentinels"], k["num-slaves"], k["flags"]) for k in known}
        return told == {(others, replicas, "master")} and self.in_step()

    def in_step(self) -> bool:
        with self.master().client() as client:
            replicas: Any = client.info("replication")
        found = [replicas[f"slave{n}"]["state"] == "online" for n in range(replicas["connected_slaves"])]
        return any(found) and len(found) == len(self.members) - 1

    @property
    def voice(self) -> OneSentinel:
        return next(sentinel for sentinel in self.sentinels if sentinel.running())

    def master(self) -> Member:
        """The one that the sentinels name, once it is one."""
        port = int(self.voice.ask("GET-MASTER-ADDR-BY-NAME", MASTER)[1])
        return next(each for each in self.members if each.port == port)

    def replica(self) -> Member:
        named = self.master()
        return next(each for each in self.members if each is not named)

    def fail_over(self) -> Member:
        """As an operator asks for it: both live. The new master."""
        old = self.master()
        eventually(self._promotes)
        return self.await_other(old)

    def _promotes(self) -> bool:
        """False until the sentinel has seen that a replica is in step."""
        try:
            self.voice.ask("FAILOVER", MASTER)
        except ResponseError as error:
            if "NOGOODSLAVE" not in str(error):
                raise
            return False
        return True

    def kill_master(self) -> Member:
        """The new master."""
        old = self.master()
        old.kill()
        return self.await_other(old)

    def await_other(self, old: Member) -> Member:
        def other() -> Member | None:
            try:
                named = {int(s.ask("GET-MASTER-ADDR-BY-NAME", MASTER)[1]) for s in self.sentinels if s.running()}
                found = self.master()
                return found if named == {found.port} != {old.port} and found.role() == "master" else None
            except RedisError:
                return None

        return eventually(other) or old
