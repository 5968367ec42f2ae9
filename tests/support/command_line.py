"""Commands as people type them, in this process."""

from __future__ import annotations

from collections.abc import Mapping

from typer.testing import CliRunner, Result

from tests.fixtures.kube import Kube
from workers.cli.main import app


def berthmaster(environment: Mapping[str, str | None], *arguments: str) -> Result:
    """None takes a variable away."""
    return CliRunner().invoke(app, arguments, env={"BERTHMASTER_CLUSTER": "blue", **environment})


def places_of(kube: Kube, redis_url: str) -> dict[str, str]:
    """Where things are, for the administrator."""
    settings = kube.settings
    return {
        "BERTHMASTER_REDIS__URL": redis_url,
        "BERTHMASTER_KUBERNETES__SERVER": settings.server or "",
        "BERTHMASTER_KUBERNETES__TOKEN": settings.token.get_secret_value() if settings.token else "",
        "BERTHMASTER_PUBLISHER__LEASE__NAMESPACE": kube.namespace,
        **({"BERTHMASTER_KUBERNETES__CA_FILE": str(settings.ca_file)} if settings.ca_file else {}),
    }
