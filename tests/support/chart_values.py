"""Values of the Helm chart that give each of its values once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scripts import chart_values

Json = dict[str, Any]
MINIMAL: Json = {"cluster": "production"}
DIGEST = f"sha256:{'a' * 64}"
ROLE = "arn:aws:iam::210987654321:role/berthmaster-production"


def pod_values(name: str) -> Json:
    """What every process may have, each with the name of the process in it."""
    anti = {"labelSelector": {"matchLabels": {"app.kubernetes.io/component": name}}, "topologyKey": "zone"}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [anti]}},
        "extraEnv": [{"name": "EXTRA", "value": name}],
        "extraVolumes": [{"name": f"ca-{name}", "configMap": {"name": f"ca-{name}"}}],
        "extraVolumeMounts": [{"name": f"ca-{name}", "mountPath": "/etc/redis"}],
        "nodeSelector": {"for": name},
        "podAnnotations": {"note": name},
        "podLabels": {"team": name},
        "priorityClassName": f"first-{name}",
        "resources": {"limits": {"memory": "3Gi"}},
        "terminationGracePeriodSeconds": 77,
        "tolerations": [{"key": name, "operator": "Exists"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    }


def process_values(name: str) -> Json:
    """Of a process with several pods and an account."""
    account = {"create": True, "name": f"berth-{name}", "annotations": {"eks.amazonaws.com/role-arn": f"{ROLE}-{name}"}}
    budget = {"enabled": True, "maxUnavailable": "50%"}
    return {**pod_values(name), "replicas": 5, "podDisruptionBudget": budget, "serviceAccount": account}


def full_values() -> Json:
    redis = {"enabled": True, "secretName": "redis-secret", "image": "valkey:9", "storage": "9Gi"}
    monitoring = {"enabled": True, "labels": {"release": "prometheus"}}
    return {
        "cluster": "production",
        "image": {"repository": "registry.example/bm", "tag": "9", "digest": DIGEST, "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "settings": {"AWS_REGION": "eu-west-1", "BERTHMASTER_METRICS__PORT": "9091"},
        "secretName": "own-secret",
        "publisher": process_values("publisher"),
        "worker": process_values("worker"),
        "beat": pod_values("beat"),
        "flower": {**pod_values("flower"), "enabled": True, "secretName": "flower-secret"},
        "redis": {**pod_values("redis"), **redis, "storageClassName": "fast"},
        "podPools": {"namespaces": ["games"], "everywhere": True},
        "networkPolicy": {"enabled": True, "rabbitmq": True},
        "keda": {"enabled": True, "serverAddress": "http://prom:9090", "minReplicaCount": 3, "maxReplicaCount": 7},
        "podMonitor": monitoring,
        "prometheusRule": monitoring,
    }


def leaves(values: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of the values that are no groups."""
    schema = chart_values.schema()
    groups = {value.path for value in chart_values.walk(schema, schema) if value.is_group}
    for name, value in values.items():
        yield from leaves(value, (*path, name)) if (*path, name) in groups else [(*path, name)]
