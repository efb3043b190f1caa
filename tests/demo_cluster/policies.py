"""What the cluster's owners decided: namespaces, priority classes, disruption budgets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from tests.demo_cluster.base import Obj, condition, instant, written

NAMESPACES: Final = (
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
    "batch",
    "data",
    "ingress",
    "ml",
    "monitoring",
    "payments",
    "shop",
)


class _Class(NamedTuple):
    value: int
    description: str
    preemption_policy: str = "PreemptLowerPriority"
    exists: bool = True


PRIORITY_CLASSES: Final = {
    "system-node-critical": _Class(
        2000001000, "Used for system critical pods that must not be moved from their current node."
    ),
    "system-cluster-critical": _Class(
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "data-critical": _Class(10000, "Databases, caches and ledgers: nothing of ours goes before them."),
    # Trouble: deleted while pods of shop/loyalty ran. They keep the value; a new pod would be refused.
    "legacy-vip": _Class(5000, "", exists=False),
    "shop-high": _Class(1000, "What a customer waits for."),
    "shop-default": _Class(100, "Everything that names no class."),
    "batch-low": _Class(-10, "Work that may wait: never preempts, may be preempted.", "Never"),
}

_SCHEDULER_CONFIG: Final = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
      - maxSkew: 2
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
"""

# namespace, name, the field, its number, replicas of the controller.
_BUDGETS: Final = (
    ("data", "postgres", "maxUnavailable", 1),
    ("ingress", "gateway", "minAvailable", 2),
    ("payments", "ledger", "minAvailable", 2),
    ("shop", "cart", "maxUnavailable", 1),
    # One of its pods is pending and one is lost, so nothing more may be disrupted.
    ("shop", "checkout", "minAvailable", 5),
    # No room at all while db-1 is lost.
    ("shop", "db", "minAvailable", 1),
)


def namespaces() -> list[Obj]:
    """Namespaces."""
    return [
        written("v1", "Namespace", name, age="412d", labels={"kubernetes.io/metadata.name": name})
        | {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        for name in NAMESPACES
    ]


def priority_classes() -> list[Obj]:
    """Priority classes that exist."""
    made = []
    for name, row in PRIORITY_CLASSES.items():
        if not row.exists:
            continue
        one = written("scheduling.k8s.io/v1", "PriorityClass", name, age="412d", generation=1)
        one |= {"value": row.value, "description": row.description, "preemptionPolicy": row.preemption_policy}
        if name == "shop-default":
            one["globalDefault"] = True
        made.append(one)
    return made


def scheduler_config() -> Obj:
    """The scheduler's configuration: pods without constraints are spread over zones, then over nodes."""
    made = written("v1", "ConfigMap", "kube-scheduler", "kube-system", age="412d")
    return made | {"data": {"config.yaml": _SCHEDULER_CONFIG}}


def disruption_budgets(pods: Iterable[Obj]) -> list[Obj]:
    """Budgets, with the status that the disruption controller computes from the pods."""
    by_app: dict[tuple[str, str], list[Obj]] = {}
    for pod in pods:
        meta = pod["metadata"]
        by_app.setdefault((meta["namespace"], meta["labels"].get("app", "")), []).append(pod)
    return [_budget(*row, by_app[row[:2]]) for row in _BUDGETS]


def _healthy(pod: Obj) -> bool:
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"]["conditions"])
    return ready and "deletionTimestamp" not in pod["metadata"]


def _budget(namespace: str, name: str, field: str, number: int, pods: list[Obj]) -> Obj:
    healthy = sum(map(_healthy, pods))
    expected = len(pods) if field == "minAvailable" else sum("deletionTimestamp" not in p["metadata"] for p in pods)
    desired = number if field == "minAvailable" else expected - number
    allowed = max(0, healthy - desired)
    reason = "SufficientPods" if allowed else "InsufficientPods"
    allows = condition("DisruptionAllowed", str(allowed > 0), instant("200d" if allowed else "03:02:57"), reason)
    return written("policy/v1", "PodDisruptionBudget", name, namespace, age="200d", generation=1) | {
        "spec": {field: number, "selector": {"matchLabels": {"app": name}}},
        "status": {
            "conditions": [{**allows, "message": "", "observedGeneration": 1}],
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "observedGeneration": 1,
        },
    }
