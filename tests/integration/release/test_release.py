"""A release is made from what is committed, by one command, and it publishes nothing."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from scripts.release import PLACES, build, version_of, write_version
from tests.fixtures.helm import Helm

REPOSITORY = Path(__file__).parents[3]
VERSION = "7.6.5"
OLD = version_of(REPOSITORY)


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The files of this one, as they are now, in a repository of their own."""
    copy = tmp_path / "repository"
    listed = git(REPOSITORY, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in listed:
        source, target = REPOSITORY / name, copy / name
        if source.exists() or source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    git(tmp_path, "init", "--quiet", str(copy))
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        git(copy, "config", key, value)
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "--message", "All of it")
    return copy


def release(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.release", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.row("ST-21", "ST-22")
@pytest.mark.timeout(600)
def test_one_command_makes_all_files_of_a_release_and_its_tag(repository: Path, tmp_path: Path, helm: Helm) -> None:
    before = git(repository, "rev-parse", "HEAD")
    done = release(repository, VERSION)
    assert done.returncode == 0, done.stderr
    dist = repository / "dist"
    names = {file.name for file in dist.iterdir()}
    assert {
        f"berthmaster-{VERSION}-py3-none-any.whl",
        f"berthmaster_server-{VERSION}-py3-none-any.whl",
        f"berthmaster-{VERSION}.tar.gz",
        f"berthmaster_server-{VERSION}.tar.gz",
        f"berthmaster-{VERSION}.cdx.json",
        f"berthmaster-{VERSION}.tgz",
        f"berthmaster-crds-{VERSION}.tgz",
    } == names - {"SHA256SUMS"}
    for line in (dist / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest
        names.discard(name)
    assert names == {"SHA256SUMS"}
    assert helm("show", "chart", str(dist / f"berthmaster-{VERSION}.tgz")).count(VERSION) == 2
    components = json.loads((dist / f"berthmaster-{VERSION}.cdx.json").read_text())["components"]
    assert {"celery", "redis", "kubernetes", "boto3", "flower"} <= {each["name"] for each in components}
    with zipfile.ZipFile(dist / f"berthmaster_server-{VERSION}-py3-none-any.whl") as wheel:
        [metadata] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        assert f"Requires-Dist: berthmaster[runner]=={VERSION}" in wheel.read(metadata).decode()
    assert git(repository, "rev-parse", "HEAD", f"v{VERSION}^{{commit}}~1").split() == [before, before]
    assert git(repository, "status", "--porcelain", "--untracked-files=no") == ""
    changelog = git(repository, "show", f"v{VERSION}:CHANGELOG.md")
    assert re.search(rf"^## {VERSION} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE)
    sdist_says_nothing_of_this_machine(dist / f"berthmaster_server-{VERSION}.tar.gz")
    git(repository, "clone", "--quiet", "--branch", f"v{VERSION}", str(repository), str(tmp_path / "elsewhere"))
    build(tmp_path / "elsewhere", tmp_path / "again")
    assert (tmp_path / "again" / "SHA256SUMS").read_text() == (dist / "SHA256SUMS").read_text()


def sdist_says_nothing_of_this_machine(sdist: Path) -> None:
    with tarfile.open(sdist) as packed:
        members = packed.getmembers()
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}
    assert len({member.mtime for member in members}) == 1


@pytest.mark.row("ST-21")
def test_a_dry_run_changes_nothing(repository: Path) -> None:
    done = release(repository, VERSION, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("pyproject.toml", "CHANGELOG.md", "Dockerfile"))
    assert not (repository / "dist").exists()
    assert git(repository, "tag") == ""


@pytest.mark.row("ST-21")
def test_what_cannot_be_released_is_refused_with_the_way_out(repository: Path) -> None:
    for version in ("", "1", "v1.2.3", "1.2.3 ", "1.2.3;x"):
        assert "expected three numbers" in release(repository, version).stderr, version
    for version in ("01.2.3", "7.06.5", "7.6.5rc01", "\u0667.6.5"):
        assert "expected three numbers" in release(repository, version).stderr, version
    assert f"not newer than {OLD}" in release(repository, "0.0.9").stderr
    (repository / "new").write_text("")
    assert "not committed" in release(repository, VERSION).stderr
    (repository / "new").unlink()
    git(repository, "tag", f"v{VERSION}")
    assert f"git tag -d v{VERSION}" in release(repository, VERSION).stderr
    git(repository, "tag", "-d", f"v{VERSION}")
    git(repository, "tag", "v8.0.0rc1")
    assert "not newer than 8.0.0rc1, which has a tag" in release(repository, VERSION).stderr
    git(repository, "tag", "-d", "v8.0.0rc1")
    changelog = repository / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("(unreleased)", "(2020-01-01)"))
    git(repository, "commit", "--quiet", "--all", "--message", "Release")
    assert "## unreleased" in release(repository, VERSION).stderr
    changelog.write_text(f"## unreleased\n\n{changelog.read_text()}")
    git(repository, "commit", "--quiet", "--all", "--message", "Go on")
    for version in (OLD, f"{OLD}rc1"):
        assert f"not newer than {OLD}" in release(repository, version).stderr, version
    assert not (repository / "dist").exists()
    assert git(repository, "tag") == ""


@pytest.mark.row("ST-21")
def test_the_version_of_the_source_is_released_once(repository: Path) -> None:
    """The first release has it: its section of the changelog says that it is unreleased."""
    for version in (f"{OLD}rc1", OLD):
        done = release(repository, version, "--dry-run")
        assert done.returncode == 0, done.stderr


@pytest.mark.row("ST-21")
def test_a_candidate_has_charts_that_helm_packages_and_orders(repository: Path, tmp_path: Path, helm: Helm) -> None:
    """Helm takes versions of SemVer alone; the image, which the chart names, has the version of the wheels."""
    write_version(repository, f"{VERSION}rc10", "2020-01-01")
    for chart in ("berthmaster", "berthmaster-crds"):
        helm("package", str(repository / "deploy" / "charts" / chart), "--destination", str(tmp_path))
        said = helm("show", "chart", str(tmp_path / f"{chart}-{VERSION}-rc.10.tgz"))
        assert f"\nappVersion: {VERSION}rc10\n" in f"\n{said}"
    assert version_of(repository) == f"{VERSION}rc10"
    write_version(repository, VERSION, "2020-01-01")
    assert f"\nversion: {VERSION}\n" in (repository / "deploy/charts/berthmaster/Chart.yaml").read_text()


@pytest.mark.row("ST-21")
def test_the_version_is_written_nowhere_else() -> None:
    """A file that names the version beside our name has a place in the release's list."""
    ours = rf"(berthmaster[a-z-]*(\[\w+\])?[:=]+|newTag: |appVersion: \"?){re.escape(OLD)}"
    found = git(REPOSITORY, "grep", "--name-only", "--extended-regexp", ours, "--", ":!docs/adr", ":!CHANGELOG.md")
    assert set(found.splitlines()) <= set(PLACES)
