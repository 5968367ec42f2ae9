"""Write the rules about our own kinds into the roles of deploy/base, from the table of kinds: `make crds`.

The part above the marker in a role is written by hand. `--check` only reports whether the roles are current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from berthmaster.kinds import GROUP, OUR_KINDS, ResourceKind, Verbs
from domain.definitions import definition_of
from workers.cli import permissions

FOLDER: Final = Path(__file__).parent.parent / "deploy" / "base"
MARKER: Final = "  # our own kinds, written by `make crds` from berthmaster/kinds.py\n"
READ: Final = ("get", "list", "watch")
CHANGE: Final = ("create", "update", "patch", "delete", "deletecollection")


class RoleRule(NamedTuple):
    """A rule of a role about our API group."""

    resource: str
    verbs: Verbs


def roles() -> dict[tuple[str, str], list[RoleRule]]:
    """Return the rules about our own kinds, by file and name of the role."""
    namespaced = [kind for kind in OUR_KINDS if kind.namespaced]
    return {
        ("publisher-access.yaml", "berthmaster-publisher"): list(_ours(permissions.PUBLISHER)),
        ("worker-access.yaml", "berthmaster-worker"): list(_ours(permissions.WORKER)),
        ("tenant-access.yaml", "berthmaster-view"): list(_of_people(OUR_KINDS, READ, ("get",))),
        ("tenant-access.yaml", "berthmaster-edit"): list(_of_people(namespaced, CHANGE, ("update", "patch"))),
    }


def _ours(rules: permissions.Rules) -> Iterator[RoleRule]:
    return (RoleRule(resource, verbs) for (group, resource), verbs in rules.items() if group == GROUP)


def _of_people(kinds: Iterable[ResourceKind], verbs: Verbs, scale_verbs: Verbs) -> Iterator[RoleRule]:
    for kind in kinds:
        yield RoleRule(kind.plural, verbs)
        if definition_of(kind).replicas_path:
            yield RoleRule(f"{kind.plural}/scale", scale_verbs)


def text_of(rules: Iterable[RoleRule]) -> str:
    """Return the rules as YAML, one for all resources with the same verbs."""
    resources: dict[Verbs, list[str]] = {}
    for rule in rules:
        resources.setdefault(rule.verbs, []).append(rule.resource)
    return "".join(
        f"  - apiGroups: [{GROUP}]\n    resources: [{', '.join(names)}]\n    verbs: [{', '.join(verbs)}]\n"
        for verbs, names in resources.items()
    )


def files(folder: Path) -> dict[str, str]:
    """Return the text of each file with its current rules. Raises ValueError for a role without the marker."""
    texts: dict[str, str] = {}
    for (file, role), rules in roles().items():
        text = texts.get(file) or (folder / file).read_text(encoding="utf-8")
        texts[file] = "---\n".join(_replaced(text.split("---\n"), role, text_of(rules)))
    return texts


def _replaced(documents: Sequence[str], role: str, rules: str) -> Iterator[str]:
    start = f"kind: ClusterRole\nmetadata:\n  name: {role}\n"
    if not any(start in document and MARKER in document for document in documents):
        raise ValueError(f"no ClusterRole {role} with the line {MARKER.strip()!r}")
    for document in documents:
        above, marker, _ = document.partition(MARKER)
        yield above + marker + rules if start in document else document


def stale(folder: Path) -> Mapping[str, str]:
    """Return the files that differ from the table, with the text that they should have."""
    return {file: text for file, text in files(folder).items() if text != (folder / file).read_text(encoding="utf-8")}


def main(folder: Path, arguments: Sequence[str]) -> int:
    """Return the exit status: 1 if a role differs from the table."""
    if "--check" not in arguments:
        for file, text in stale(folder).items():
            (folder / file).write_text(text, encoding="utf-8")
    wrong = ", ".join(stale(folder))
    print(f"access: {'not as the table of kinds says, run make crds: ' + wrong if wrong else 'as the table says'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(FOLDER, sys.argv[1:]))
