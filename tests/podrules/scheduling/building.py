"""Parts of pods and whole budgets as manifests write them, for tests of placement and of the scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podrules.scheduling.scheduler.profile import Profile, read_profiles
from podrules.scheduling.scheduler.runtime import PLUGIN_ARGS
from tests.objects import raw_condition

Json = Mapping[str, Any]

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREEMPTED = raw_condition("DisruptionTarget", reason="PreemptionByScheduler")


def node_affinity(key: str, operator: str, *values: str, matching: str = "matchExpressions") -> Json:
    """``spec.affinity`` that requires a label of nodes, or with ``matchFields`` a field."""
    terms = [{matching: [{"key": key, "operator": operator, "values": list(values)}]}]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def near(key: str = HOST, **labels: str) -> Json:
    """``spec.affinity`` to pods with these labels."""
    return {"podAffinity": {REQUIRED: [_pod_term(key, labels)]}}


def anti_affinity(key: str = HOST, **labels: str) -> Json:
    """``spec.affinity`` that requires distance from pods with these labels."""
    return {"podAntiAffinity": {REQUIRED: [_pod_term(key, labels)]}}


def spread(key: str, max_skew: int = 1, when: str = "DoNotSchedule", **labels: str) -> Json:
    """One of ``spec.topologySpreadConstraints``, on pods with these labels."""
    selector = {"matchLabels": labels}
    return {"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}


def make_budget(
    name: str = "pdb",
    allowed: int = 0,
    *,
    app: str = "foo",
    namespace: str = "default",
    selector: Json | None = None,
    disrupted: Sequence[str] = (),
    **status: Any,
) -> Json:
    """A budget for the pods of an ``app``, unless it has another selector."""
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": app}} if selector is None else selector},
        "status": {
            "disruptionsAllowed": allowed,
            "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
            **status,
        },
    }


def owned(pod: Json, kind: str, name: str = "owner", version: str = "apps/v1") -> Any:
    """A copy of the pod that this controller made."""
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": name, "controller": True}
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}}


def read_profile(**fields: Any) -> Profile:
    """The only profile of a configuration, as it is read."""
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return read_profiles({**kind, "profiles": [fields]}, PLUGIN_ARGS)["default-scheduler"]


def bound_claim(name: str, volume: str, **spec: Any) -> Json:
    """A claim that has its volume."""
    metadata = {"name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return {"metadata": metadata, "spec": {"volumeName": volume, **spec}}


def mounted(name: str) -> dict[str, Any]:
    """A pod's volume that is a claim."""
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}


def _pod_term(key: str, labels: Json) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
