"""Reads our tags back: a listener or target group names the entry of the ledger that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from berthmaster.names import is_name
from domain.port_audit.rebuild import TaggedEntry
from domain.ports.entry import Entry, EntryState
from domain.ports.retain_annotation import MAX_RETENTION
from workers.cloud.tags import LOAD_BALANCER, OWNER, POOL, PORT, RETAIN, UID, WANT


def read_tags(tags: Mapping[str, str], listener: str = "", target_group: str = "") -> TaggedEntry | None:
    """The entry, or None when the tags are not those of one of our ports: anybody can edit them by hand."""
    port, uid, lb = (tags.get(name, "") for name in (PORT, UID, LOAD_BALANCER))
    owner = read_owner(tags)
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and uid and lb and owner):
        return None
    entry = Entry(
        tags.get(POOL, ""), lb, int(port), tags.get(WANT, ""), uid, EntryState.RELEASING, listener, target_group
    )
    return TaggedEntry("/".join(owner), replace(entry, retain=_seconds(tags.get(RETAIN, ""))))


def read_owner(tags: Mapping[str, str]) -> tuple[str, str] | None:
    """Namespace and name of the owner, or None when no pod can have them: it would have no runs, and no path."""
    namespace, _, name = tags.get(OWNER, "").partition("/")
    return (namespace, name) if is_name(namespace) and is_name(name) else None


def _seconds(text: str) -> int:
    """The seconds of a tag, 0 for a text that we would not have written."""
    is_ours = text.isascii() and text.isdigit() and len(text) <= 7
    return min(int(text), int(MAX_RETENTION.total_seconds())) if is_ours else 0
