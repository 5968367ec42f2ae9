"""What a Kubernetes Event says about a pod's ports."""

from __future__ import annotations

import json

from domain.ports.pod import Outputs
from workers.ports.status import outputs_in_words

ROW = {
    "name": "game",
    "pool": "arena",
    "loadBalancer": "lb-0",
    "containerPort": 7777,
    "protocol": "UDP",
    "host": "lb.example.com",
    "port": 30000,
}


def test_a_bound_pod_is_told_its_addresses() -> None:
    shown = json.dumps([ROW, {**ROW, "name": "", "protocol": "TCP", "port": 30001}])
    said = "game (UDP) at lb.example.com:30000, 7777 (TCP) at lb.example.com:30001"
    assert outputs_in_words(Outputs("Bound", shown)) == said


def test_a_reason_goes_before_what_is_served() -> None:
    assert outputs_in_words(Outputs("Pending", json.dumps([ROW]), "why")) == "why"
