"""Q1, Q4, P1: the steps of admission on one pod, in their order."""

from __future__ import annotations

from podrules.admission.admitted_pod import AdmissionObjects, admit_pod
from podrules.api.model.base import ObjectMeta
from podrules.api.model.decode import from_object
from podrules.api.model.policy import PriorityClass, RuntimeClass
from podrules.pod.defaults import DefaultedField
from podrules.pod.priority import SYSTEM_CLUSTER_CRITICAL, PrioritySource
from tests.objects import make_limit_range, make_pod
from tests.table import table

HIGH = PriorityClass(metadata=ObjectMeta(name="high"), value=1000)


def test_every_step_changes_the_pod() -> None:
    objects = AdmissionObjects(
        limit_ranges=[make_limit_range(default={"cpu": "1"}, default_request={"cpu": "500m"})],
        runtime_class=from_object({"overhead": {"podFixed": {"cpu": "250m"}}}, RuntimeClass),
        priority_classes={"high": HIGH},
    )
    written = make_pod(limits={"memory": "1Gi"}, priorityClassName="high")
    admitted = admit_pod(written, objects)
    spec = admitted.pod.spec
    assert admitted.written == written
    assert admitted.changed == (
        DefaultedField("spec.containers[0].resources.requests.memory", None, "1Gi", "API defaults"),
        DefaultedField("spec.containers[0].resources.requests.cpu", None, "500m", "LimitRange"),
        DefaultedField("spec.containers[0].resources.limits.cpu", None, "1", "LimitRange"),
    )
    assert {name: str(amount) for name, amount in spec.overhead.items()} == {"cpu": "250m"}
    assert (spec.priority, spec.preemption_policy, spec.termination_grace_period_seconds) == (
        1000,
        "PreemptLowerPriority",
        30,
    )
    assert admitted.priority is not None
    assert admitted.priority.source is PrioritySource.CLASS
    assert admitted.rejected is None


def test_refused_pod_keeps_earlier_admission_changes() -> None:
    limits = [make_limit_range(default={"cpu": "1"})]
    pod = make_pod(priorityClassName="none")
    admitted = admit_pod(pod, AdmissionObjects(limit_ranges=limits, priority_classes={"high": HIGH}))
    assert admitted.rejected is not None
    assert admitted.rejected.endswith("no PriorityClass with name none was found")
    assert (admitted.priority, admitted.pod.spec.priority) == (None, None)
    assert "cpu" in admitted.pod.spec.containers[0].resources.limits


@table(
    "name, priority",
    {
        "a class of the cluster is unknown": ("high", None),
        "a system class is known": (SYSTEM_CLUSTER_CRITICAL, 2_000_000_000),
    },
)
def test_only_system_classes_resolve_without_classes(name: str, priority: int | None) -> None:
    admitted = admit_pod(make_pod(priorityClassName=name), AdmissionObjects())
    assert admitted.pod.spec.priority == priority
    assert admitted.rejected is None
