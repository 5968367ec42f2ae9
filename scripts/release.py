"""Make a release: `make release VERSION=0.2.0`. It publishes nothing.

The release is made in a clone: version and date are written there, committed and tagged, and dist/ is built from the
tag. The tag reaches this repository when all of it is there, so a release that fails leaves nothing behind. The same
commit gives the same files, byte for byte.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from packaging.version import Version

REPOSITORY: Final = Path(__file__).parents[1]
VERSION: Final = re.compile(r"(\d+\.\d+\.\d+)(?:(a|b|rc)(\d+))?", re.ASCII)
UNRELEASED: Final = re.compile(r"^## (?:(\S+) )?\(?unreleased\)?$", re.MULTILINE)
PLACES: Final = {
    "pyproject.toml": ('version = "{}"', "berthmaster[runner]=={}", "berthmaster[tracing]=={}"),
    "berthmaster/pyproject.toml": ('version = "{}"',),
    "Dockerfile": ("ARG VERSION={}", "berthmaster:{} ", "berthmaster-sandbox:{} "),
    "compose/compose.yaml": ("berthmaster-sandbox:{}\n",),
    "deploy/charts/berthmaster/Chart.yaml": ("version: {chart}\n", "appVersion: {}\n"),
    "deploy/charts/berthmaster-crds/Chart.yaml": ("version: {chart}\n", "appVersion: {}\n"),
    "deploy/overlays/eks/kustomization.yaml": ("newTag: {}\n",),
    "deploy/overlays/sandbox/kustomization.yaml": ("newTag: {}\n",),
    "docs/eks-elasticache.md": ("berthmaster:{}`", "  tag: {}\n"),
    "docs/install.md": ("berthmaster:{}\n", "berthmaster:{} "),
}
"""File -> how it writes the version; each is there at least once. `chart` is the version in Helm's words."""


class ReleaseError(Exception):
    """The release cannot be made; the message says why, and what to do."""


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints, without the end of the line."""
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def version_of(folder: Path) -> str:
    """Return the version that the source tree has."""
    line = re.search(r'^version = "(.+)"', (folder / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if not line:
        raise ReleaseError("pyproject.toml: there is no version")
    return line[1]


def is_version(text: str) -> bool:
    """Return whether the text is a version in the one way that we write it."""
    return VERSION.fullmatch(text) is not None and str(Version(text)) == text


def chart_version(version: str) -> str:
    """Return the version as SemVer, which Helm takes alone and orders: `0.2.0-rc.10` for 0.2.0rc10."""
    return VERSION.sub(lambda parts: f"{parts[1]}-{parts[2]}.{parts[3]}" if parts[2] else parts[1], version)


def check(repository: Path, version: str) -> None:
    """Raise ReleaseError unless this version can be released from what is committed."""
    if not is_version(version):
        raise ReleaseError(
            f"VERSION={version}: expected three numbers without leading zeros, for example 0.2.0, or 0.2.0rc1"
        )
    if changed := git(repository, "status", "--porcelain"):
        raise ReleaseError(f"there are changes that are not committed:\n{changed}")
    if git(repository, "tag", "--list", f"v{version}"):
        raise ReleaseError(f"the tag v{version} exists: choose the next version, or delete it: git tag -d v{version}")
    section = UNRELEASED.search((repository / "CHANGELOG.md").read_text(encoding="utf-8"))
    if not section:
        raise ReleaseError("CHANGELOG.md: there is no section `## unreleased` that tells what is new")
    present, wanted = version_of(repository), Version(version)
    tags = [Version(tag[1:]) for tag in git(repository, "tag", "--list", "v*").split() if is_version(tag[1:])]
    if (newest := max(tags, default=wanted)) > wanted:
        raise ReleaseError(f"VERSION={version} is not newer than {newest}, which has a tag")
    last = Version(present)
    # A version that is unreleased itself may be released, after candidates of it.
    if not (wanted > last or (section[1] == present and wanted.release == last.release)):
        raise ReleaseError(f"VERSION={version} is not newer than {present}, which pyproject.toml has")


def write_version(folder: Path, version: str, today: str) -> None:
    """Write the version wherever the source tree has it, and the date into the changelog."""
    old = version_of(folder)
    for name, patterns in PLACES.items():
        path = folder / name
        text = path.read_text(encoding="utf-8")
        for pattern in patterns:
            before, after = (pattern.format(number, chart=chart_version(number)) for number in (old, version))
            if before not in text:
                raise ReleaseError(f"{name}: expected {before!r}")
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
    changelog = folder / "CHANGELOG.md"
    text = UNRELEASED.sub(f"## {version} ({today})", changelog.read_text(encoding="utf-8"), count=1)
    changelog.write_text(text, encoding="utf-8")


def same_bytes(archive: Path, moment: int) -> None:
    """Write the archive again with its files in order, and without the times and users of this machine."""
    content = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=content, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = moment, 0, 0, "", ""
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    archive.write_bytes(gzip.compress(content.getvalue(), mtime=moment))


def build(source: Path, dist: Path) -> None:
    """Build wheels, sdists, charts, list of components and checksums of what is committed in `source`."""
    moment = git(source, "log", "-1", "--format=%ct")
    tools = Path(sys.prefix, "bin")
    environment = os.environ | {"SOURCE_DATE_EPOCH": moment, "PATH": f"{tools}:{os.environ['PATH']}"}
    locked = ["--build-constraints", str(source / "deploy" / "image" / "build.txt"), "--require-hashes"]
    for folder in (source / "berthmaster", source):
        command: list[str | Path] = [tools / "uv", "build", "--quiet", *locked, "--out-dir", dist, folder]
        subprocess.run(command, env=environment, check=True)
    (dist / ".gitignore").unlink(missing_ok=True)
    helm = subprocess.run([source / "tests" / "helm" / "build.sh"], check=True, capture_output=True, text=True)
    for chart in ("berthmaster-crds", "berthmaster"):
        package: list[str | Path] = [
            helm.stdout.strip(),
            "package",
            "--destination",
            dist,
            source / "deploy" / "charts" / chart,
        ]
        subprocess.run(package, check=True, stdout=subprocess.DEVNULL)
    for archive in (*dist.glob("*.tar.gz"), *dist.glob("*.tgz")):
        same_bytes(archive, int(moment))
    sbom = dist / f"berthmaster-{version_of(source)}.cdx.json"
    subprocess.run([source / "scripts" / "sbom.sh", sbom], env=environment, check=True, stdout=subprocess.DEVNULL)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(dist.iterdir())]
    (dist / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def released(repository: Path, version: str, dist: Path, *, dry_run: bool) -> Iterator[str]:
    """Make the release, and yield a line for each step that is done."""
    check(repository, version)
    day = datetime.now(UTC).date().isoformat()  # noqa: TID251 - the day that people read in the changelog
    with TemporaryDirectory() as place:
        source, built = Path(place, "source"), Path(place, "dist")
        git(repository, "clone", "--quiet", "--no-hardlinks", str(repository), str(source))
        write_version(source, version, day)
        yield f"version {version} is written to {len(PLACES)} files and to CHANGELOG.md"
        if dry_run:
            yield git(source, "diff", "--stat")
            return
        for key in ("user.name", "user.email"):
            git(source, "config", key, git(repository, "config", key))
        git(source, "commit", "--quiet", "--all", "--allow-empty", "--message", f"Release {version}")
        git(source, "tag", "--annotate", f"v{version}", "--message", f"Berthmaster {version}")
        build(source, built)
        dist.mkdir(exist_ok=True)
        for file in sorted(built.iterdir()):
            shutil.copy(file, dist)
            yield f"{dist.name}/{file.name}"
        git(repository, "fetch", "--quiet", str(source), f"refs/tags/v{version}:refs/tags/v{version}")
    yield f"tag v{version}. Nothing is published: git merge --ff-only v{version} && git push origin HEAD v{version}"


def main(arguments: list[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and build nothing")
    chosen = parser.parse_args(arguments)
    try:
        for line in released(REPOSITORY, chosen.version, REPOSITORY / "dist", dry_run=chosen.dry_run):
            print(line, flush=True)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"release: {error.cmd[0]} ended with {error.returncode}; nothing was tagged", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
