"""The WSGI application. Calls of Elastic Load Balancing pass faults, throttle and record; other calls go to moto."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from io import BytesIO
from typing import Any
from urllib.parse import unquote_plus
from xml.sax.saxutils import escape

from moto.core.request import Request
from moto.moto_server.werkzeug_app import BackendRequest, DomainDispatcherApplication, create_backend_app
from werkzeug.wrappers import Response

from compose.sandbox.aws.account import ACCOUNT, AwsAccount
from compose.sandbox.aws.calls import AwsCall, now, parameters
from compose.sandbox.aws.control import Control
from compose.sandbox.aws.faults import AwsFault
from compose.sandbox.aws.policy import Question, questions, refused
from compose.sandbox.aws.responses import StrictResponse

VERSION = "2015-12-01"  # of the Elastic Load Balancing API
REGION = re.compile(r"Credential=[^/]+/[^/]+/([^/]+)/")
KEY = re.compile(r"Credential=([^/]+)/")
ARNS = "arn:aws:elasticloadbalancing:{}:{}:"
CODE = re.compile(r"<Code>(.*?)</Code>")
ERROR = (
    '<ErrorResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/">'
    "<Error><Type>{kind}</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    "<RequestId>sandbox</RequestId></ErrorResponse>"
)


class AnswerLostError(ConnectionError):
    """A fault loses the answer: the server closes the connection."""


class Application:
    """The WSGI application of one account."""

    def __init__(self, account: AwsAccount) -> None:
        self.account, self._control = account, Control(account)
        self._others = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request. Raises AnswerLostError if a fault says so."""
        request = BackendRequest(environ)
        if request.path.startswith("/_"):
            return self._control.answer(request)(environ, start_response)
        body = request.get_data(cache=True, parse_form_data=False).decode()
        if f"Version={VERSION}" not in body:
            return self._others(_rewound(environ, body), start_response)  # type: ignore[no-any-return] # moto says Any
        return self._elbv2(_rewound(environ, body), body)(environ, start_response)

    def _elbv2(self, environ: dict[str, Any], body: str) -> Response:
        started, asked = time.monotonic(), now()
        request = BackendRequest(environ)
        action = request.form.get("Action", "")
        region = _from_signature(REGION, request, "us-east-1")
        fault = self.account.faults.take(action, unquote_plus(body))
        try:
            answer = self._answer(request, action, region, fault)
        except AnswerLostError:
            self._record(asked, action, region, body, "AnswerLost", started)
            raise
        text = answer.get_data(as_text=True) if answer.status_code >= 400 else ""
        error_code = CODE.search(text)
        self._record(asked, action, region, body, error_code[1] if error_code else "ok", started)
        return answer

    def _answer(self, request: Request, action: str, region: str, fault: AwsFault | None) -> Response:
        if self.account.throttle.refuses(self.account.settings, region, action):
            return _error("Throttling", "Rate exceeded", 400)
        wait = self.account.settings.latency + (fault.delay if fault else 0)
        if wait:
            time.sleep(wait)
        if fault and fault.code:
            return _error(fault.code, fault.message, fault.status)
        if forbidden := self._forbidden(request, action, region):
            return _error("AccessDenied", f"not authorized to perform {forbidden.action} on {forbidden.resource}", 403)
        answer = self._carried_out(request)
        if fault and fault.lose == "cut":
            raise AnswerLostError(action)
        return _error("InternalFailure", fault.message, 500) if fault and fault.lose else answer

    def _forbidden(self, request: Request, action: str, region: str) -> Question | None:
        """Return what the policy of the caller's key forbids, or None. A key without a policy may do anything."""
        statements = self.account.settings.policies.get(_from_signature(KEY, request, ""))
        if statements is None:
            return None
        form = {} if action.startswith("Describe") else request.form
        with self.account.lock:
            tags_of = self.account.backend(region).tagging_service.get_tag_dict_for_resource
            return refused(statements, questions(action, form, ARNS.format(region, ACCOUNT), tags_of))

    def _carried_out(self, request: Request) -> Response:
        with self.account.lock:
            status, headers, text = StrictResponse(self.account.backend)._dispatch(request)
        kept = [
            (name, str(value)) for name, value in headers.items() if name.lower() not in ("status", "content-length")
        ]
        return Response(text, status=int(status), headers=kept)

    def _record(self, asked: float, action: str, region: str, body: str, code: str, started: float) -> None:
        self.account.calls.record(AwsCall(asked, action, region, parameters(body), code, time.monotonic() - started))


def _rewound(environ: dict[str, Any], body: str) -> dict[str, Any]:
    """Return the request with a body that can be read again."""
    return {**environ, "wsgi.input": BytesIO(body.encode()), "CONTENT_LENGTH": str(len(body.encode()))}


def _from_signature(pattern: re.Pattern[str], request: Request, otherwise: str) -> str:
    """Return the pattern's first group in the signature of the request, or `otherwise`."""
    match = pattern.search(request.headers.get("Authorization", ""))
    return match[1] if match else otherwise


def _error(code: str, message: str, status: int) -> Response:
    kind = "Sender" if status < 500 else "Receiver"
    text = ERROR.format(kind=kind, code=escape(code), message=escape(message))
    return Response(text, status=status, content_type="text/xml")
