"""Answers requests about one object: its page, what the page shows, decisions about a job, and the search."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, cast

import orjson
import structlog
from tornado.web import HTTPError, authenticated

from berthmaster import routing
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.names import is_name
from berthmaster.redis.outage import OUTAGE
from workers.cli.deciding import why_not
from workers.cli.troubles import in_words
from workers.fleet_pages import claim_documents, job_documents, port_documents
from workers.fleet_pages.document import Document, path_to
from workers.fleet_pages.handlers import FleetHandler
from workers.fleet_pages.readers import FleetReaders
from workers.fleet_pages.search import found_document, search

log = structlog.get_logger()
JOB_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
LB_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")
READERS: Final[Mapping[str, Callable[..., Document | None]]] = {
    "portpool": port_documents.port_pool,
    "lb": port_documents.load_balancer,
    "pod": port_documents.pod,
    "podpool": lambda readers, namespace, name: job_documents.pod_pool(readers, f"{namespace}/{name}"),
    "job": lambda readers, namespace, pool, name: job_documents.job(readers, f"{namespace}/{pool}", name),
    "podclaim": claim_documents.claim,
    "podclaimset": claim_documents.claim_set,
}
NOUNS: Final = {
    "portpool": "port pool",
    "lb": "load balancer",
    "podpool": "pod pool",
    "podclaim": "claim",
    "podclaimset": "claim set",
}
"""What people call a kind, where that is not the word of the address."""


class DetailHandler(FleetHandler):
    """What all requests about one object share."""

    @property
    def readers(self) -> FleetReaders:
        """The readers of the fleet."""
        readers: FleetReaders = cast(Any, self.application).readers
        return readers

    async def document(self, kind: str, names: tuple[str, ...]) -> Document:
        """Return the document of an object. Raises HTTPError: there is no such object, or Redis does not answer."""
        document: Document | None = await self.ask((kind, names), lambda: READERS[kind](self.readers, *names))
        if document is None:
            raise HTTPError(HTTPStatus.NOT_FOUND, absent(kind, names))
        return document

    async def ask(self, name: object, question: Callable[[], Any]) -> Any:
        """Ask in a thread, once for all viewers. A Redis that does not answer, or not what it should, is a 503."""
        try:
            return await cast(Any, self.application).answers.ask(name, question)
        except (*OUTAGE, UnreadableLedger) as error:
            raise HTTPError(HTTPStatus.SERVICE_UNAVAILABLE, in_words(error)) from None


def checked(kind: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of an object. Raises HTTPError for a text that names nothing: names become parts of keys."""
    *parents, last = names
    pattern = {"job": JOB_ID, "lb": LB_NAME}.get(kind)
    valid = pattern.fullmatch(last) is not None if pattern else is_name(last)
    if not (valid and all(map(is_name, parents))):
        raise HTTPError(HTTPStatus.NOT_FOUND)
    return names


def absent(kind: str, names: tuple[str, ...]) -> str:
    """Say that there is no such object."""
    return f"there is no {NOUNS.get(kind, kind)} {'/'.join(names)}, or not any more"


class ObjectHandler(DetailHandler):
    """The page of an object."""

    @authenticated
    async def get(self, kind: str, *names: str) -> None:
        """Show the page. Its script reads the document, again and again, also of an object that does not exist yet."""
        try:
            await self.document(kind, checked(kind, names))
        except HTTPError as error:
            if error.log_message is None:  # the address names nothing
                raise
            if error.status_code == HTTPStatus.NOT_FOUND:
                self.set_status(HTTPStatus.NOT_FOUND)
        title, source = checked(kind, names)[-1], f"{self.base}/data{path_to(kind, *names)}"
        self.render("fleet_detail.html", base=self.base, title=title, source=source, document="")


class DocumentHandler(DetailHandler):
    """What the page of an object shows."""

    @authenticated
    async def get(self, kind: str, *names: str) -> None:
        """Send the document as JSON. Actions are in it for people who may decide."""
        names = checked(kind, names)
        document = await self.document(kind, names)
        self.set_header("Content-Type", "application/json")
        self.finish(orjson.dumps(document if self.may_decide else document.without_actions()))

    def write_error(self, status_code: int, **details: Any) -> None:
        """Say what is wrong in one line. A browser that has sent no password yet is asked for it as by any page."""
        if status_code == HTTPStatus.UNAUTHORIZED:
            super().write_error(status_code, **details)
            return
        self.set_header("Content-Type", "application/json")
        self.finish(orjson.dumps({"problem": message_of(status_code, details)}))


def message_of(status: int, details: Mapping[str, Any]) -> str:
    """Return the message of the exception that a request has ended with."""
    error = (details.get("exc_info") or (None, None))[1]
    if isinstance(error, HTTPError) and error.log_message:
        return error.log_message % error.args  # Tornado has doubled each percent sign
    return HTTPStatus(status).phrase


class DecisionHandler(DocumentHandler):
    """A decision of a person about a job. Each verb has a route of its own, and the body repeats the job's id."""

    fields: frozenset[str] = frozenset({"job"})

    def check_xsrf_cookie(self) -> None:
        """Accept a request of one of our own pages only: browsers say where a request comes from."""
        if self.request.headers.get("Sec-Fetch-Site") != "same-origin":
            raise HTTPError(HTTPStatus.FORBIDDEN, "only a page of this server may ask for that")
        if self.request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise HTTPError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")

    def get(self, *_: str) -> None:
        """Refuse: looking decides nothing."""
        raise HTTPError(HTTPStatus.METHOD_NOT_ALLOWED)

    def body(self, name: str) -> dict[str, str]:
        """Return the fields of the body. Raises HTTPError for any other."""
        try:
            document = orjson.loads(self.request.body)
        except orjson.JSONDecodeError:
            document = None
        if not isinstance(document, dict) or set(document) != self.fields or document["job"] != name:
            raise HTTPError(HTTPStatus.BAD_REQUEST, f"send exactly: {', '.join(sorted(self.fields))}")
        if not all(isinstance(value, str) and value for value in document.values()):
            raise HTTPError(HTTPStatus.BAD_REQUEST, "each field is a text")
        return document

    async def decide(self, verb: str, call: tuple[str, ...], plan: str = "") -> None:
        """Send the task of a decision, if the job can take it."""
        _, pool, name, *_ = call
        record = await self.ask(object(), lambda: self.readers.slots(pool).record(name))
        if record is None:
            raise HTTPError(HTTPStatus.NOT_FOUND, absent("job", (*pool.split("/"), name)))
        if why := why_not(record, plan):
            raise HTTPError(HTTPStatus.CONFLICT, why)
        sender, person = cast(Any, self.application).sender, self.person
        sent = await self.ask(object(), lambda: sender.send(*call, person))
        if not sent:
            raise HTTPError(
                HTTPStatus.SERVICE_UNAVAILABLE, "the broker does not accept it: berthmaster doctor says why"
            )
        log.info("decision_sent", decision=verb, pool=pool, job=name, by=person)
        self.set_status(HTTPStatus.ACCEPTED)
        self.set_header("Content-Type", "application/json")
        self.finish(orjson.dumps({"state": record.state}))


class ConfirmHandler(DecisionHandler):
    """Confirms the plan that a person has read."""

    fields = frozenset({"job", "plan"})

    @authenticated
    async def post(self, namespace: str, pool: str, name: str) -> None:
        """Confirm."""
        checked("job", (namespace, pool, name))
        plan = self.body(name)["plan"]
        await self.decide("confirm", (routing.SLOTS_CONFIRM, f"{namespace}/{pool}", name, plan), plan)


class CancelHandler(DecisionHandler):
    """Cancels a job."""

    @authenticated
    async def post(self, namespace: str, pool: str, name: str) -> None:
        """Cancel."""
        checked("job", (namespace, pool, name))
        self.body(name)
        await self.decide("cancel", (routing.SLOTS_CANCEL, f"{namespace}/{pool}", name))


class SearchHandler(DetailHandler):
    """The search. One hit leads to its page at once."""

    @authenticated
    async def get(self) -> None:
        """Search for the text `q`."""
        text = self.get_query_argument("q", "")[:300]
        hits = await self.ask(("search", text), lambda: search(self.readers, text))
        if len(hits) == 1:
            self.redirect(self.base + path_to(*hits[0]))
            return
        document = orjson.dumps(found_document(text, hits)).decode()
        self.render("fleet_detail.html", base=self.base, title="Search", source="", document=document)
