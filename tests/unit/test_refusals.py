"""Which answers mean "not now", and what a spell of them says."""

from __future__ import annotations

import pytest
import structlog
from structlog.testing import capture_logs

from berthmaster.redis.refusals import CODES, RefusedError, Spell, raising, refusal, refused, warn
from tests.support.waiting import eventually

SAID_BY_SERVERS = {  # by Valkey 7.2, alone, from a script, and from EXEC
    "OOM command not allowed when used memory > 'maxmemory'.": "OOM",
    "OOM command not allowed when used memory > 'maxmemory'. script: on @user_script:1.": "OOM",
    "READONLY You can't write against a read only replica. script: on @user_script:1.": "READONLY",
    "EXECABORT Transaction discarded because of: BUSY Valkey is busy running a script.": "BUSY",
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)": "UNBLOCKED",
    "ERR max number of clients reached": "max clients",
    "ERR max number of clients + cluster connections reached": "max clients",
}
OTHERS = (
    "ERR unknown command 'X'",
    "WRONGTYPE Operation against a key",
    "BUSYGROUP Consumer Group name already exists",
    "NOSCRIPT No matching script.",
    "EXECABORT Transaction discarded because of previous errors.",
    "NOAUTH Authentication required.",
)


@pytest.mark.row("RD-22")
@pytest.mark.parametrize(("text", "code"), [*SAID_BY_SERVERS.items(), *((f"{c} text", c) for c in sorted(CODES))])
def test_an_answer_that_means_not_now_is_recognised(text: str, code: str) -> None:
    assert refusal(text) == code


@pytest.mark.row("RD-22")
@pytest.mark.parametrize("text", OTHERS)
def test_an_error_of_the_command_is_none(text: str) -> None:
    assert refusal(text) is None


@pytest.mark.row("RD-22")
def test_a_refusal_in_the_reply_of_a_transaction_is_raised() -> None:
    error = RefusedError("Redis refuses for now: OOM")
    with pytest.raises(RefusedError):
        raising(lambda: [b"OK", error])()


def test_a_refusal_is_known_behind_the_errors_that_wrap_it() -> None:
    wrapped = RuntimeError("not sent")
    wrapped.__cause__ = RefusedError("Redis refuses for now: OOM")
    with capture_logs() as lines:
        warn(structlog.get_logger(), "tasks_unsent", wrapped)
        warn(structlog.get_logger(), "tasks_unsent", RuntimeError("no route"))
    assert refused(wrapped)
    assert [line["error"] for line in lines] == ["no route"]


@pytest.mark.row("RD-22")
def test_a_spell_is_a_line_when_it_begins_and_one_when_it_is_over() -> None:
    spell = Spell(quiet=0.2)
    with capture_logs() as lines:
        for code in ("OOM", "OOM", "BUSY"):
            spell.note(code)
        assert spell.lasts is not None
        eventually(lambda: spell.lasts is None)
        eventually(lambda: len(lines) == 2)
    assert [line["event"] for line in lines] == ["redis_refuses", "redis_accepts"]
    assert lines[1]["refusals"] == {"OOM": 2, "BUSY": 1}
