"""Flower with our pages. `CONTRACT` names everything of Flower that this relies on; one test compares them.

Flower has no plugins. There are three seams: its command creates what `flower.command.Flower` names, a subclass adds
routes that precede Flower's own, and a loader of templates returns its pages with our entry in the navigation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files
from typing import Any, Final

from flower.app import Flower
from tornado.routing import URLSpec
from tornado.template import DictLoader

from berthmaster.broker.sending import Sender
from berthmaster.redis.client import connect_briefly
from berthmaster.redis.identity import Identity
from workers.cli.configured import configured
from workers.fleet_pages.board import FleetBoard
from workers.fleet_pages.detail_answers import DetailAnswers
from workers.fleet_pages.readers import FleetReaders
from workers.fleet_pages.rights import guarded
from workers.fleet_pages.routes import routes
from workers.settings import WorkerSettings

ENTRY: Final = '<ul class="app-nav navbar-nav">'
"""The marker in Flower's navigation. Without it only the link is missing."""
LINK: Final = """
        <li class="nav-item">
          <a class="nav-link{% if active_tab == 'fleet' %} active{% end %}" href="{{ reverse_url('fleet') }}"
            {% if active_tab == 'fleet' %}aria-current="page"{% end %}>Fleet</a>
        </li>"""
BUTTONS: Final = "{% if not read_only %}"
"""What stands before Flower's own buttons."""
CONTRACT: Final = {"templates/navbar.html": ENTRY, "templates/worker.html": BUTTONS, "templates/task.html": BUTTONS}


class FleetFlower(Flower):
    """Flower, with the pages of the fleet and a guard before everything that changes something."""

    def __init__(self, options: Any = None, **settings: Any) -> None:
        super().__init__(options=options, **settings, template_loader=DictLoader(dict(templates())))
        self.add_handlers(".*", [*self._routes()])

    @cached_property
    def fleet_settings(self) -> WorkerSettings:
        """The settings of this process."""
        return configured()

    @cached_property
    def deciders(self) -> frozenset[str]:
        """The names of the people who may decide."""
        return self.fleet_settings.flower.names

    @cached_property
    def board(self) -> FleetBoard:
        """What all viewers see of the fleet."""
        return FleetBoard.of(self.fleet_settings)

    @cached_property
    def answers(self) -> DetailAnswers:
        """The answers about single objects."""
        return DetailAnswers()

    @cached_property
    def readers(self) -> FleetReaders:
        """The readers of single objects. Several threads use them."""
        settings = self.fleet_settings
        redis = connect_briefly(settings.redis, Identity(settings.cluster))
        return FleetReaders(redis, settings.ports.default_spec)

    @cached_property
    def sender(self) -> Sender:
        """The sender of decisions."""
        return Sender(self.fleet_settings.broker_url)

    def get_handler_delegate(self, request: Any, target_class: Any, *args: Any, **options: Any) -> Any:
        """Put the guard before every handler, Flower's own too."""
        return super().get_handler_delegate(request, guarded(target_class), *args, **options)

    def _routes(self) -> Iterator[URLSpec]:
        prefix = f"/{self.options.url_prefix.strip('/')}" if self.options.url_prefix else ""
        for route in routes(home=self.fleet_settings.flower.home):
            yield URLSpec(prefix + route.regex.pattern, route.handler_class, route.kwargs, route.name)


def templates() -> Iterator[tuple[str, str]]:
    """Yield Flower's templates and ours by name."""
    for package in ("flower", "workers.fleet_pages"):
        for file in (files(package) / "templates").iterdir():
            text = file.read_text(encoding="utf-8").replace(BUTTONS, "{% if not read_only and handler.may_decide %}")
            yield file.name, text.replace(ENTRY, ENTRY + LINK) if file.name == "navbar.html" else text
