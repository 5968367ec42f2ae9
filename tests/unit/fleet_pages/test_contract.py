"""Every name of Flower that our pages rely on: whoever raises its version reads here what to look at."""

from __future__ import annotations

import inspect
from importlib.metadata import version
from importlib.resources import files

import pytest
from flower import app, command
from flower.options import default_options
from flower.urls import handlers, settings
from tornado.routing import URLSpec
from tornado.template import DictLoader
from tornado.web import Application, HTTPError

from workers.fleet_pages.application import BUTTONS, CONTRACT, FleetFlower, templates
from workers.fleet_pages.detail_handlers import message_of


@pytest.mark.row("UI-02")
def test_flower_has_what_our_pages_rely_on() -> None:
    assert version("flower").startswith("2.2.")
    assert command.Flower is app.Flower, "the command creates what flower.command.Flower names"
    assert list(inspect.signature(app.Flower.__init__).parameters)[:3] == ["self", "options", "capp"]
    assert issubclass(app.Flower, Application)
    assert {"read_only", "basic_auth", "auth", "url_prefix"} <= set(default_options.as_dict())
    names = {route.name for route in handlers if isinstance(route, URLSpec)}
    assert {"main", "workers", "tasks", "broker"} <= names
    assert settings["static_url_prefix"] == "/static/"
    for name in ("js/theme.js", "js/bootstrap.bundle.min.js", "css/bootstrap.min.css", "css/flower.css", "favicon.ico"):
        assert (files("flower") / "static" / name).is_file(), name


@pytest.mark.row("UI-02")
@pytest.mark.parametrize(("name", "marker"), CONTRACT.items())
def test_flowers_templates_have_the_markers(name: str, marker: str) -> None:
    assert marker in (files("flower") / name).read_text(encoding="utf-8")


@pytest.mark.row("UI-02")
def test_all_templates_compile_and_ours_hide_none_of_flowers() -> None:
    pages = list(templates())
    names = [name for name, _ in pages]
    assert len(names) == len(set(names))
    loader = DictLoader(dict(pages))
    for name in names:
        loader.load(name)


@pytest.mark.row("UI-05")
def test_flowers_buttons_are_for_people_who_may_decide() -> None:
    pages = dict(templates())
    for name in ("worker.html", "task.html"):
        assert BUTTONS not in pages[name]
        assert "{% if not read_only and handler.may_decide %}" in pages[name]


def test_the_class_is_flowers_own_with_ours_around_it() -> None:
    assert issubclass(FleetFlower, app.Flower)
    assert callable(app.Flower.get_handler_delegate)


def test_an_error_is_said_as_it_is() -> None:
    error = HTTPError(503, "Redis has used 100% of its memory")
    assert message_of(503, {"exc_info": (HTTPError, error, None)}) == "Redis has used 100% of its memory"
    assert message_of(404, {"exc_info": (HTTPError, HTTPError(404), None)}) == "Not Found"
    assert message_of(500, {}) == "Internal Server Error"
