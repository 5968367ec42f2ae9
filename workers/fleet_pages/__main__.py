"""`python -m workers.fleet_pages SECONDS ARGUMENTS`: Celery's command line, whose command `flower` has our pages."""

from __future__ import annotations

from flower import command

from workers.cli.launch import main
from workers.fleet_pages.application import FleetFlower

command.Flower = FleetFlower  # Flower has no plugins: its command creates whatever has this name
main()
