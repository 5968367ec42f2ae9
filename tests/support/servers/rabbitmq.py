"""A RabbitMQ of one's own on loopback: its own directory, node name, cookie and epmd, and none of the system's service.

It ends with this process however this process ends. Debian's package has the server; RABBITMQ_SERVER names another.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kombu import Connection, Queue

from compose.sandbox.daemon import Daemon, answers
from compose.sandbox.free_ports import free_port

OF_DEBIAN: Final = "/usr/lib/rabbitmq/bin/rabbitmq-server"
"""The script itself: /usr/sbin/rabbitmq-server changes to the user and the folder of the system's service."""


def rabbitmq() -> str | None:
    """Path of the server's script, None where there is none."""
    return os.environ.get("RABBITMQ_SERVER") or shutil.which(OF_DEBIAN)


class RabbitMq:
    """One node."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.port, names = directory, free_port(), free_port()
        directory.mkdir(parents=True)
        (directory / "rabbitmq.conf").write_text("disk_free_limit.absolute = 1MB\nloopback_users = none\n")
        (directory / "plugins").write_text("[].\n")
        environment = {
            "HOME": str(directory),  # the cookie is there
            "ERL_EPMD_PORT": str(names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RUNNING_UNDER_SYSTEMD": "true",  # else a shell stays between us and the server
            "RABBITMQ_NODENAME": f"test-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONF_ENV_FILE": str(directory / "none"),
            "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.data),
            "RABBITMQ_LOG_BASE": str(directory),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_GENERATED_CONFIG_DIR": str(directory / "generated"),
            "RABBITMQ_PID_FILE": str(directory / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}",
        }
        self.names = Daemon("epmd", ["epmd", "-port", str(names), "-address", "127.0.0.1"], directory, environment)
        self.node = Daemon("rabbitmq", [rabbitmq() or OF_DEBIAN], directory, environment)
        self._epmd = names

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> RabbitMq:
        """Returns when it takes connections."""
        if not self.names.running():
            self.names.start(lambda: answers(self._epmd))
        self.node.start(lambda: answers(self.port))
        return self

    def stop(self) -> None:
        """As its operator does: it keeps what is durable."""
        self.node.stop(patience=60)

    def lose(self) -> None:
        """Killed, and everything that it had is gone."""
        self.node.kill()
        shutil.rmtree(self.data)

    def end(self) -> None:
        self.node.kill()
        self.names.kill()

    def user(self, name: str, rights: str) -> str:
        """Create a user who may configure, write and read what `rights` matches; returns their address."""
        ctl = Path(rabbitmq() or OF_DEBIAN).with_name("rabbitmqctl")
        for arguments in (("add_user", name, name), ("set_permissions", name, rights, rights, rights)):
            subprocess.run([ctl, *arguments], env=self.node.env, check=True, capture_output=True, timeout=120)
        return self.url.replace("guest:guest", f"{name}:{name}")

    def waiting(self, queue: str) -> int | None:
        """Messages that nobody has taken; None of a queue that there is not."""
        with Connection(self.url) as connection:
            of_rabbitmq: Any = connection  # kombu's types know no classes of exceptions
            with suppress(*of_rabbitmq.channel_errors):
                declared: Any = Queue(queue)(connection.default_channel).queue_declare(passive=True)
                return int(declared.message_count)
        return None
