"""Traces cost nothing until somebody asks for them."""

from __future__ import annotations

import subprocess
import sys

import orjson

from berthmaster import routing, tracing
from tests.support.spans import spans

PRINT_LOADED = "print([name for name in sys.modules if name.endswith('sdk.trace')])"
LOADED = f"import sys, workers.app, events.publisher.process; {PRINT_LOADED}"
ABSENT = """
import sys
sys.modules["opentelemetry.exporter"] = None
from berthmaster import tracing
tracing.start("http://127.0.0.1:1", 1.0, "test")
"""


def test_without_traces_there_are_no_headers_no_spans_and_no_packages() -> None:
    assert tracing.HEADER not in orjson.loads(routing.message(routing.PORTS_RECONCILE, "pod/games/a"))["headers"]
    assert tracing.span("anything") is tracing.OFF
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=60, check=True)
    assert loaded.stdout == "[]\n"


def test_a_message_made_outside_of_a_span_names_none() -> None:
    with spans():
        assert tracing.headers() == {}
        with tracing.span("publish"):
            message = routing.message(routing.PORTS_RECONCILE, "pod/games/a")
            assert orjson.loads(message)["headers"].keys() >= {tracing.HEADER}


def test_a_hint_is_of_no_trace_because_it_names_no_key() -> None:
    with spans(), tracing.span("publish"):
        assert tracing.HEADER not in orjson.loads(routing.hint("1-1"))["headers"]


def test_without_its_packages_a_process_that_shall_send_traces_says_what_to_install() -> None:
    ended = subprocess.run([sys.executable, "-c", ABSENT], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "pip install 'berthmaster[tracing]'" in ended.stderr
