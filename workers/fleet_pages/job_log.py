"""The log on the page of a job: the lines after those that a viewer has."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from tornado.web import HTTPError, authenticated

from berthmaster.jobs.job import ATTEMPT
from berthmaster.jobs.logs import JobLogs, LogLine, LogPosition
from domain.visible import visible_line
from workers.cli.logs import gap_of
from workers.fleet_pages.detail_handlers import DocumentHandler, absent, checked
from workers.fleet_pages.readers import FleetReaders


def job_log(
    readers: FleetReaders, pool: str, name: str, attempt: str = "", of: str = "", after: LogPosition | None = None
) -> dict[str, Any] | None:
    """Return some lines of an attempt, None if the ledger does not know the job.

    `attempt`: '' for the latest one. `after`: a position in the log of the attempt `of`; the log of any other attempt
    is read from its beginning. Of the reply, `more`: there are more lines already, `ended`: none will come.
    """
    ledger = readers.slots(pool)
    record = ledger.record(name)
    if record is None:
        return None
    logs = JobLogs(ledger)
    shown = attempt or logs.latest(record)
    position = after if after and of == shown else LogPosition()
    over = logs.is_over(record, shown)  # asked before the lines, rule `lastread`
    page = logs.page(shown, position)
    return {
        "attempt": visible_line(shown),
        "attempts": [{"attempt": visible_line(a.attempt), "phase": visible_line(a.phase)} for a in logs.attempts(name)],
        "after": str(page.after),
        "lines": [part for line in page.lines for part in parts(line)],
        "more": page.more,
        "ended": page.ended or (over and page.after == position),
    }


def parts(line: LogLine) -> list[dict[str, Any]]:
    """Return a line for the page, after a note if lines before it are missing."""
    gap = [{"gap": gap_of(line)}] if line.missing else []
    return [*gap, {"at": f"{line.at:%F %T}Z", "text": visible_line(line.text)}]


class JobLogHandler(DocumentHandler):
    """The log of a job. Whoever may look may read it."""

    @authenticated
    async def get(self, *names: str) -> None:
        """Send lines as JSON. Queries: `attempt` (else the latest one); `of` and `after`: what the viewer has."""
        namespace, pool, name = checked("job", names)
        attempt, of, at = (self.get_query_argument(query, "") for query in ("attempt", "of", "after"))
        for query, text in {"attempt": attempt, "of": of}.items():
            if text and not ATTEMPT.fullmatch(text):
                raise HTTPError(HTTPStatus.NOT_FOUND, f"{query}: there is no such attempt")
        try:
            after = LogPosition.parse(at) if at else None
        except ValueError as error:
            raise HTTPError(HTTPStatus.BAD_REQUEST, f"after: {error}") from None
        log = await self.ask(
            ("log", names, attempt, of, at),
            lambda: job_log(self.readers, f"{namespace}/{pool}", name, attempt, of, after),
        )
        if log is None:
            raise HTTPError(HTTPStatus.NOT_FOUND, absent("job", names))
        self.set_header("Content-Type", "application/json")
        self.finish(orjson.dumps(log))
