"""`python -m compose.sandbox.aws --port N`: serves the strict AWS on the loopback until it is told to end."""

from __future__ import annotations

import argparse
import logging
import sys

from werkzeug.serving import WSGIRequestHandler, make_server

from compose.sandbox.aws.account import AwsAccount
from compose.sandbox.aws.app import Application
from compose.sandbox.aws.network import SandboxVpc
from compose.sandbox.aws.settings import Settings


class QuietHandler(WSGIRequestHandler):
    """Keeps connections open and logs no requests; `/_calls` lists them."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""

    def connection_dropped(self, *_: object) -> None:
        """Close the connection of a lost answer without a log line."""
        self.close_connection = True


def arguments(argv: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m compose.sandbox.aws", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--provisioning", type=float, default=0.0, help="seconds until a load balancer is active")
    parser.add_argument("--initial", type=float, default=0.0, help="seconds until a target is healthy")
    parser.add_argument("--draining", type=float, default=0.0, help="seconds until a deregistered target is gone")
    parser.add_argument("--throttle", action="store_true", help="refuse calls above AWS's rates")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    """Print the address and the ids of the network in one line, then serve until the process ends."""
    options = arguments(argv)
    settings = Settings(
        provisioning=options.provisioning, initial=options.initial, draining=options.draining, throttle=options.throttle
    )
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    account = AwsAccount(settings)
    server = make_server(options.host, options.port, Application(account), threaded=True, request_handler=QuietHandler)
    network = SandboxVpc("us-east-1").described()
    ids = " ".join([str(network["vpc"]), *network["subnets"]])
    sys.stdout.write(f"sandbox AWS on http://{options.host}:{server.port} {ids}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
