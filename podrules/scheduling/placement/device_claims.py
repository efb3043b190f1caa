"""Resource claims that will be created for a pod to come, from the templates that the pod names.

The pod controls them, and its status names them. If the template is not there, no claim is made, and the pod waits.

Source: pkg/controller/resourceclaim/controller.go (handleClaim) at v1.36.3; KEP-4381.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from podrules.api.model.pod import Pod, PodResourceClaimStatus
from podrules.api.model.resource import ResourceClaim, ResourceClaimTemplateSpec
from podrules.api.model.snapshot import ClusterSnapshot


def awaited_templates(pod: Pod) -> Sequence[str]:
    """Names of the templates from which a pod has no claims yet."""
    there = {status.name for status in pod.status.resource_claim_statuses}
    awaited = (reference for reference in pod.spec.resource_claims if reference.name not in there)
    return [
        reference.resource_claim_template_name
        for reference in awaited
        if reference.resource_claim_template_name is not None
    ]


def missing_templates(pod: Pod, snapshot: ClusterSnapshot) -> Sequence[str]:
    """Those of `awaited_templates` that are not there."""
    there = _templates(pod, snapshot)
    return [name for name in awaited_templates(pod) if name not in there]


def with_device_claims(pod: Pod, snapshot: ClusterSnapshot) -> tuple[Pod, ClusterSnapshot]:
    """A pod to come with a status that names its claims, and the cluster, which has the templates, with them.

    The pod has the name and the uid that it will have.
    """
    templates = _templates(pod, snapshot)
    metadata = pod.metadata
    claims: list[ResourceClaim] = []
    statuses: list[PodResourceClaimStatus] = []
    for reference in pod.spec.resource_claims:
        template = templates.get(reference.resource_claim_template_name or "")
        if template is None:
            continue
        # The API server adds five unknown characters; it never adds these.
        name = f"{metadata.name}-{reference.name}-planned"
        own = replace(template.metadata, name=name, namespace=metadata.namespace, owner_references=(pod.as_controller,))
        claims.append(ResourceClaim(metadata=own, spec=template.spec))
        statuses.append(PodResourceClaimStatus(reference.name, name))
    if not claims:
        return pod, snapshot
    named = replace(pod, status=replace(pod.status, resource_claim_statuses=tuple(statuses)))
    return named, replace(snapshot, resource_claims=(*snapshot.resource_claims, *claims))


def _templates(pod: Pod, snapshot: ClusterSnapshot) -> Mapping[str, ResourceClaimTemplateSpec]:
    """Those that a pod can name, by name."""
    return {
        entry.metadata.name: entry.spec
        for entry in snapshot.resource_claim_templates
        if entry.metadata.namespace == pod.metadata.namespace
    }
