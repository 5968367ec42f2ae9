"""The copies of deploy/ in the Helm charts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from scripts.chart_files import DEPLOY, present, wanted, write


@pytest.fixture
def deploy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEPLOY, tmp_path / "deploy"))


@pytest.mark.row("ST-16")
def test_the_charts_have_every_file_of_deploy_that_they_read_and_no_other(deploy: Path) -> None:
    changed, gone = deploy / "base" / "worker.yaml", deploy / "components" / "keda" / "scaled-object.yaml"
    changed.write_text("kind: Changed\n")
    gone.unlink()
    (deploy / "base" / "new.yaml").write_text("kind: New\n")
    (deploy / "base" / ".#new.yaml").symlink_to("nowhere")  # as an editor locks a file
    before = present(deploy)
    assert before == present(DEPLOY) == wanted(DEPLOY)
    write(wanted(deploy), deploy)
    files = Path("charts", "berthmaster", "files")
    assert {path for path, content in present(deploy).items() if before.get(path) != content} == {
        files / "base" / "worker.yaml",
        files / "base" / "new.yaml",
    }
    assert before.keys() - present(deploy).keys() == {files / "components" / "keda" / "scaled-object.yaml"}


@pytest.mark.row("ST-16")
@pytest.mark.parametrize(
    "folder", sorted(path.parent.relative_to(DEPLOY) for path in DEPLOY.glob("**/kustomization.yaml")), ids=str
)
def test_every_manifest_is_named_by_the_kustomization_of_its_folder(folder: Path) -> None:
    """One that is not is installed by nothing, and no comparison of two ways to install misses it."""
    named = yaml.safe_load((DEPLOY / folder / "kustomization.yaml").read_text())
    files = {file.name for file in (DEPLOY / folder).glob("*.yaml")} - {"kustomization.yaml"}
    assert files <= {*named.get("resources", ()), *(patch.get("path") for patch in named.get("patches", ()))}


def test_the_repository_has_no_links_because_archives_and_some_checkouts_lose_them() -> None:
    done = subprocess.run(["git", "ls-files", "--stage"], cwd=DEPLOY.parent, check=True, capture_output=True, text=True)
    assert done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("120000")] == []
