"""A pod's QoS class, its origin, and whether a manifest would change it (Q1)."""

from __future__ import annotations

from msgspec import Struct

from podrules.admission.admitted_pod import AdmittedPod
from podrules.api.features import Features
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.pod.defaults import DefaultedField
from podrules.pod.qos import QOSExplanation, explain_qos, get_pod_qos, resize_rejection


class ResizeReport(Struct, frozen=True, rename="camel"):
    """Whether the existing pod could become the one in the manifest by an in-place resize."""

    existing_class: PodQOSClass
    rejected: str | None
    """Upstream's message; None: the class would stay."""


class QOSReport(Struct, frozen=True, rename="camel"):
    """QoS class (Q1)."""

    qos_class: PodQOSClass
    computed_class: PodQOSClass
    """The class that the current resources give: differs from the class only if the status is wrong."""
    explanation: QOSExplanation
    manifest_class: PodQOSClass | None
    """For a manifest: the class of the resources as written, before the API server's defaults."""
    defaulted: tuple[DefaultedField, ...]
    resize: ResizeReport | None
    """None without a pod of that name, or if that pod itself is explained."""


def pod_qos(pod: Pod, admitted: AdmittedPod | None, existing: Pod | None, features: Features) -> QOSReport:
    """The class of a pod.

    Args:
        pod: As the API server stores it.
        admitted: The result of admission; None for a pod of the cluster.
        existing: For a manifest, the pod that already has its name.
        features: The feature gates.
    """
    explanation = explain_qos(pod, features=features)
    return QOSReport(
        qos_class=get_pod_qos(pod, features=features),
        computed_class=explanation.qos_class,
        explanation=explanation,
        manifest_class=None if admitted is None else explain_qos(admitted.written, features=features).qos_class,
        defaulted=() if admitted is None else admitted.changed,
        resize=None if existing is None else _resize(pod, existing, features),
    )


def _resize(pod: Pod, existing: Pod, features: Features) -> ResizeReport:
    return ResizeReport(get_pod_qos(existing, features=features), resize_rejection(existing, pod, features=features))
