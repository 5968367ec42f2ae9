"""What counts as the output of a task: the streams and `logging`, of its own thread and context."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread
from typing import NoReturn, TextIO, cast

import pytest
from celery.utils.log import LoggingProxy

from berthmaster.runner.capture import OF_TASKS, OutputCapture
from berthmaster.runner.log import AttemptLog


def say(text: str) -> None:
    """As `print` does it."""
    sys.stdout.write(text)
    sys.stdout.write("\n")


@pytest.fixture(autouse=True)
def plain_logging() -> Iterator[None]:
    """As a new process has it, whatever other tests have set up: pytest's own handlers alone, and the usual levels."""
    root = logging.getLogger()
    with pytest.MonkeyPatch.context() as patch:
        ours = [handler for handler in root.handlers if type(handler).__module__.startswith("_pytest")]
        patch.setattr(root, "handlers", ours)
        patch.setattr(root, "level", logging.WARNING)
        patch.setattr(root.manager, "disable", logging.NOTSET)
        for name in ("mine", "celery", OF_TASKS, f"{OF_TASKS}.mine", "celery.redirected"):
            logger = logging.getLogger(name)
            for field, value in (("handlers", []), ("level", logging.NOTSET), ("disabled", False), ("propagate", True)):
                patch.setattr(logger, field, value)
        root.setLevel(root.level)  # loggers remember which levels count
        for name in ("stdout", "stderr"):
            patch.setattr(sys, name, getattr(sys, name))  # what captures put there stays
        yield
    root.setLevel(root.level)


class Sheet(AttemptLog):
    """Keeps the text."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, source: str, text: str) -> None:
        self.text += text


class BrokenSheet(Sheet):
    def write(self, source: str, text: str) -> None:
        raise RuntimeError("of ours")


@pytest.mark.row("UI-24")
def test_output_goes_to_the_log_and_where_it_went_before(capsys: pytest.CaptureFixture[str]) -> None:
    capture, sheet, tasks = OutputCapture(), Sheet(), logging.getLogger(f"{OF_TASKS}.mine")
    logging.getLogger(OF_TASKS).propagate = False
    try:
        with capture.to(sheet):
            say("printed")
            sys.stderr.writelines(["a", "b\n"])
            logging.getLogger("mine").warning("%s of a library", "a warning")
            tasks.error("of a task")
            sys.stdout.flush()
    finally:
        logging.getLogger(OF_TASKS).propagate = True
    say("later")
    logging.getLogger("mine").warning("later")
    assert sheet.text == f"printed\nab\nWARNING mine: a warning of a library\nERROR {OF_TASKS}.mine: of a task\n"
    out, err = capsys.readouterr()
    assert (out, err) == ("printed\nlater\n", "ab\nof a task\n")  # nobody else gets the record: `logging` prints it


@pytest.mark.row("UI-24")
def test_tasks_in_threads_have_their_own_lines_and_other_threads_none(capsys: pytest.CaptureFixture[str]) -> None:
    capture, sheets, both = OutputCapture(), [Sheet(), Sheet()], Barrier(2)

    def run(number: int) -> None:
        with capture.to(sheets[number]):
            both.wait(60)
            say(f"task {number}")
            logging.getLogger("mine").warning("task %s", number)
            both.wait(60)
            if not number:
                other = Thread(target=say, args=("of the worker",))
                other.start()
                other.join()
            both.wait(60)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(2)))
    assert [sheet.text for sheet in sheets] == [f"task {n}\nWARNING mine: task {n}\n" for n in range(2)]
    assert "of the worker" in capsys.readouterr().out


@pytest.mark.row("UI-24")
def test_an_error_leaves_its_traceback_and_ours_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    capture, sheet = OutputCapture(), Sheet()
    with pytest.raises(ValueError, match="theirs"), capture.to(sheet):
        raise ValueError("theirs")
    assert sheet.text.startswith("Traceback")
    assert sheet.text.endswith("ValueError: theirs\n")
    with capture.to(BrokenSheet()):
        say("printed")
        logging.getLogger("mine").warning("logged")
    assert capsys.readouterr().out == "printed\n"


def logs_of(*tasks: Callable[[], object]) -> list[str]:
    """What tasks that run one after the other have in their logs."""
    capture, sheets = OutputCapture(), [Sheet() for _ in tasks]
    for task, sheet in zip(tasks, sheets, strict=True):
        with capture.to(sheet):
            task()
    return [sheet.text for sheet in sheets]


@pytest.mark.row("UI-24")
def test_a_stream_that_somebody_keeps_is_that_of_each_task() -> None:
    kept = list[TextIO]()

    def task() -> None:
        kept.append(sys.stdout)
        kept[0].write("kept\n")
        say("printed")

    assert logs_of(task, task, task) == ["kept\nprinted\n"] * 3
    assert kept == [sys.stdout] * 3


class Wrapper:
    """As libraries put them around sys.stdout."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(text.upper())


@pytest.mark.row("UI-24")
def test_tasks_that_wrap_the_stream_and_leave_it_so_wrap_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    def task() -> None:
        if not isinstance(sys.stdout, Wrapper):
            sys.stdout = cast(TextIO, Wrapper(sys.stdout))
        say("printed")

    count = sys.getrecursionlimit()
    assert logs_of(*[task] * count) == ["PRINTED\n"] * count
    assert capsys.readouterr().out == "PRINTED\n" * count


@pytest.mark.row("UI-24")
def test_a_stream_that_somebody_puts_in_place_between_tasks_counts_as_well() -> None:
    first, second = io.StringIO(), io.StringIO()

    def task() -> None:
        say("printed")
        sys.stdout = second

    sys.stdout = first
    assert logs_of(task, task) == ["printed\n"] * 2
    assert (first.getvalue(), second.getvalue()) == ("printed\n", "printed\n")


@pytest.mark.row("UI-24")
def test_a_process_without_streams_has_none_afterwards() -> None:
    sys.stdout = sys.stderr = None
    assert logs_of(lambda: print("nowhere"), lambda: logging.getLogger("mine").warning("logged")) == [  # noqa: T201 - say() needs a stream
        "",
        "WARNING mine: logged\n",
    ]
    assert (sys.stdout, sys.stderr) == (None, None)


class Proxy:
    """As those of values that are not there outside of a request."""

    def __getattribute__(self, name: str) -> NoReturn:
        raise RuntimeError(f"there is no {name} here")


@pytest.mark.row("UI-24")
def test_a_stream_that_cannot_be_looked_into_fails_no_task() -> None:
    sys.stdout = cast(TextIO, Proxy())
    assert logs_of(lambda: logging.getLogger("mine").warning("logged")) == ["WARNING mine: logged\n"]


@pytest.mark.row("UI-24")
def test_what_celery_redirects_to_a_logger_counts_once(capsys: pytest.CaptureFixture[str]) -> None:
    redirected = logging.getLogger("celery.redirected")
    redirected.addHandler(logging.StreamHandler(sys.stderr))
    sys.stdout = LoggingProxy(redirected, logging.WARNING)
    assert logs_of(lambda: say("printed")) == ["printed\n"]
    assert capsys.readouterr().err == "printed\n"


@pytest.mark.row("UI-24")
def test_a_record_that_a_handler_prints_counts_once() -> None:
    mine, handlers = logging.getLogger("mine"), list[logging.Handler]()

    def task() -> None:
        if not handlers:
            handlers.append(logging.StreamHandler(sys.stdout))
            logging.getLogger().addHandler(handlers[0])
        mine.warning("logged")

    def to_own_handler() -> None:
        mine.propagate = False
        mine.addHandler(handlers[0])
        mine.warning("logged")

    def above_its_level() -> None:
        mine.propagate = True
        handlers[0].setLevel(logging.ERROR)
        mine.warning("logged")

    assert logs_of(task, task, to_own_handler, above_its_level) == [*["logged\n"] * 3, "WARNING mine: logged\n"]


@pytest.mark.row("UI-24")
def test_a_warning_that_no_handler_gets_reaches_the_pod_s_log_as_well(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`logging` prints it, as long as nobody handles it."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])

    def task() -> None:
        logging.getLogger("mine").warning("no slot")
        logging.getLogger("mine").info("not said by default")

    assert logs_of(task) == ["WARNING mine: no slot\n"]
    assert capsys.readouterr().err == "no slot\n"


@pytest.mark.row("UI-24")
def test_a_task_that_configures_logging_takes_the_log_from_no_later_one() -> None:
    """In a pool of threads, whose worker is never idle."""
    capture, later = OutputCapture(), Sheet()
    with capture.to(Sheet()), ThreadPoolExecutor(1) as threads:
        with capture.to(Sheet()):
            logging.basicConfig(force=True, handlers=[logging.NullHandler()])

        def task() -> None:
            with capture.to(later):
                logging.getLogger("mine").warning("seen")

        threads.submit(task).result()
    assert later.text == "WARNING mine: seen\n"
