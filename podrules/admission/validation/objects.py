"""How the API server validates an object when it is created: the errors of its kind's validation, in its words.

Objects are checked against the schema first (`podrules.api.schema.strict`): the rules here rely on every value to have
its field's type. What admission adds or rejects is not checked here.

Source: pkg/registry/rest/create.go (BeforeCreate) and pkg/storage/names/generate.go of k8s.io/apiserver at v0.37.1;
pkg/registry of k8s.io/kubernetes for each kind's strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from podrules.admission.validation.autoscaling import (
    validate_horizontal_pod_autoscaler,
    validate_horizontal_pod_autoscaler_v1,
)
from podrules.admission.validation.jobs import validate_cron_job, validate_job
from podrules.admission.validation.pod import validate_pod
from podrules.admission.validation.policies import (
    validate_limit_range,
    validate_pod_disruption_budget,
    validate_priority_class,
    validate_resource_quota,
)
from podrules.admission.validation.view import Rules, View
from podrules.admission.validation.volume_sources import validate_persistent_volume_claim
from podrules.admission.validation.workloads import (
    validate_daemon_set,
    validate_deployment,
    validate_replica_set,
    validate_replication_controller,
    validate_stateful_set,
)
from podrules.api.model.misfit import FieldError

_KINDS: Final[Mapping[tuple[str, str], Callable[[View, Rules], Iterator[FieldError]]]] = {
    ("v1", "LimitRange"): validate_limit_range,
    ("v1", "PersistentVolumeClaim"): validate_persistent_volume_claim,
    ("v1", "Pod"): validate_pod,
    ("v1", "ReplicationController"): validate_replication_controller,
    ("v1", "ResourceQuota"): validate_resource_quota,
    ("apps/v1", "DaemonSet"): validate_daemon_set,
    ("apps/v1", "Deployment"): validate_deployment,
    ("apps/v1", "ReplicaSet"): validate_replica_set,
    ("apps/v1", "StatefulSet"): validate_stateful_set,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): validate_horizontal_pod_autoscaler_v1,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): validate_horizontal_pod_autoscaler,
    ("batch/v1", "CronJob"): validate_cron_job,
    ("batch/v1", "Job"): validate_job,
    ("policy/v1", "PodDisruptionBudget"): validate_pod_disruption_budget,
    ("scheduling.k8s.io/v1", "PriorityClass"): validate_priority_class,
}
_DRAWN: Final = "00000"
_PREFIX_LENGTH: Final = 58
"""What is longer in a generateName is cut off."""
VALIDATED: Final = frozenset(_KINDS)
"""The kinds with values that are validated here, by apiVersion and kind."""


def validate(content: Mapping[str, Any], minor: int) -> Sequence[FieldError]:
    """Every error of an object that its schema fits, in the API server's order and each of them once."""
    rule = _KINDS.get((str(content.get("apiVersion")), str(content.get("kind"))))
    if rule is None:
        return ()
    return tuple(dict.fromkeys(rule(View(_named(content), ""), Rules(minor))))


def _named(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object with the name that is made of generateName: zeros stand for what is drawn at random."""
    meta = content.get("metadata") or {}
    prefix = meta.get("generateName")
    if meta.get("name") or not prefix:
        return content
    return {**content, "metadata": {**meta, "name": prefix[:_PREFIX_LENGTH] + _DRAWN}}
