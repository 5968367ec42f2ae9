"""The routes of the pages, below `/fleet`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from tornado.routing import URLSpec

from workers.fleet_pages.detail_handlers import (
    CancelHandler,
    ConfirmHandler,
    DocumentHandler,
    ObjectHandler,
    SearchHandler,
)
from workers.fleet_pages.handlers import BoardHandler, ChangesHandler, HomeHandler, OverviewHandler, StaticHandler
from workers.fleet_pages.job_log import JobLogHandler

STATIC: Final = str(files("workers.fleet_pages") / "static")
NAME: Final = "([^/]+)"
OBJECTS: Final = (
    rf"(portpool)/{NAME}",
    rf"(lb|pod|podpool|podclaim|podclaimset)/{NAME}/{NAME}",
    rf"(job)/{NAME}/{NAME}/{NAME}",
)


def routes(*, home: bool) -> Iterator[URLSpec]:
    """Yield the routes. `home`: `/` leads to the overview."""
    if home:
        yield URLSpec(r"/", HomeHandler)
    yield URLSpec(r"/fleet", OverviewHandler, name="fleet")
    yield URLSpec(r"/fleet/board", BoardHandler)
    yield URLSpec(r"/fleet/changes", ChangesHandler)
    yield URLSpec(r"/fleet/search", SearchHandler)
    for names in OBJECTS:
        yield URLSpec(rf"/fleet/{names}", ObjectHandler)
        yield URLSpec(rf"/fleet/data/{names}", DocumentHandler)
    yield URLSpec(rf"/fleet/log/{NAME}/{NAME}/{NAME}", JobLogHandler)
    yield URLSpec(rf"/fleet/confirm/{NAME}/{NAME}/{NAME}", ConfirmHandler)
    yield URLSpec(rf"/fleet/cancel/{NAME}/{NAME}/{NAME}", CancelHandler)
    yield URLSpec(r"/fleet/static/([a-z]+[.][a-z]+)", StaticHandler, {"path": STATIC})
