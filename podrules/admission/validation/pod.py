"""How the API server validates a Pod and a pod template.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidatePodCreate,
validatePodMetadataAndSpec, ValidatePodTemplateSpec).
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.admission.validation.annotations import validate_pod_annotations
from podrules.admission.validation.errors import forbidden, invalid
from podrules.admission.validation.formats import dns_subdomain, is_padded
from podrules.admission.validation.metadata import validate_annotations, validate_labels, validate_object_meta
from podrules.admission.validation.pod_spec import validate_pod_spec
from podrules.admission.validation.profiles import validate_seccomp_and_apparmor
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.admission.validation.volumes import kept_volumes, named_volumes
from podrules.api.model.field_error import FieldError


def validate_pod(content: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a Pod against the rules of its creation."""
    pod = _context(content, rules, is_pod=True)
    yield from validate_object_meta(pod.meta, rules, dns_subdomain)
    yield from validate_pod_annotations(pod)
    yield from validate_pod_spec(pod)
    yield from _only_in_pods(pod.spec, rules)
    if pod.spec.structs("ephemeralContainers"):
        yield forbidden(pod.spec.at("ephemeralContainers"), "cannot be set on create")
    if pod.spec.text("nodeName") and pod.spec.structs("schedulingGates"):
        yield forbidden(pod.spec.at("nodeName"), "cannot be set until all schedulingGates have been cleared")
    yield from validate_seccomp_and_apparmor(pod)


def validate_pod_template(template: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the template of a workload against the rules of templates."""
    pod = _context(template, rules, is_pod=False)
    yield from validate_labels(pod.meta.texts_by_key("labels"), pod.meta.at("labels"), rules)
    yield from validate_annotations(pod.meta.texts_by_key("annotations"), pod.meta.at("annotations"), rules)
    yield from validate_pod_annotations(pod)
    yield from validate_pod_spec(pod)
    yield from validate_seccomp_and_apparmor(pod)
    if pod.spec.structs("ephemeralContainers"):
        yield forbidden(pod.spec.at("ephemeralContainers"), "ephemeral containers not allowed in pod template")


def _context(content: View, rules: Rules, *, is_pod: bool) -> PodContext:
    spec, meta = content.struct("spec"), content.struct("metadata")
    if not is_pod:
        meta = View(meta.content, content.path)
    claims = frozenset(claim.text("name") for claim in spec.structs("resourceClaims")) - {""}
    return PodContext(spec, meta, rules, is_pod, named_volumes(spec, meta, rules), claims)


def _only_in_pods(spec: View, rules: Rules) -> Iterator[FieldError]:
    if not spec.text("serviceAccountName") and not spec.text("serviceAccount"):
        for volume in kept_volumes(spec, rules):
            for source in volume.struct("projected").structs("sources"):
                if source.has("serviceAccountToken"):
                    words = "must not be specified when serviceAccountName is not set"
                    yield forbidden(source.at("serviceAccountToken"), words)
    for name in ("containers", "initContainers"):
        for container in spec.structs(name):
            image = container.text("image")
            if is_padded(image):
                yield invalid(container.at("image"), image, "must not have leading or trailing whitespace")
