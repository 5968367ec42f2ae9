"""A cluster that somebody else started is made ready for the others of compose/compose.yaml."""

from __future__ import annotations

from pathlib import Path
from threading import Timer

import pytest

from compose.sandbox.kube.adopt import elsewhere, main
from events.kube.api import KubeApi
from events.settings import KubernetesSettings
from tests.fixtures.kube import CRDS, Kube


@pytest.mark.row("EV-21")
def test_the_copy_leads_to_the_cluster_and_our_kinds_are_there(kube: Kube, tmp_path: Path) -> None:
    given, copy = tmp_path / "given", tmp_path / "copy"
    text = elsewhere(kube.server.kubeconfig.read_text(), "https://127.0.0.1:1")
    later = Timer(0.5, lambda: given.write_text(text))  # as a server that is starting
    later.start()
    main([str(given), str(copy), kube.url, str(CRDS)])
    later.join()
    api = KubeApi.connect(KubernetesSettings(kubeconfig=copy))
    assert {"portpools", "podpools"} <= {
        each["name"] for each in api.get("/apis/berthmaster.dev/v1alpha1")["resources"]
    }
    api.close()
