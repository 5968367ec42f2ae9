"""A target as text, `ip:port` or `[ip]:port`: in the ledger, on the pod and in logs."""

from __future__ import annotations

Address = tuple[str, int]


def target_text(ip: str, port: int) -> str:
    """For example `10.0.0.5:7777` or `[fd00::5]:7777`."""
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def address_of(target: str) -> Address:
    """The address of a text that target_text returned."""
    ip, _, port = target.rpartition(":")
    return ip.strip("[]"), int(port)
