"""Whom a force deletion's rules are for, and which of them: warn, ask for a confirmation, or refuse.

The configuration says a mode, of that namespace or of all. A label on the Namespace can make it stricter and never less
strict, for whoever may edit the Namespace can set and remove it. A label that is no mode, or cannot be read, changes
nothing, and that is said. Of Nodes the configuration alone decides: no namespace keeps a Node from being deleted.

The kubelet's last delete of a stopped pod, pod garbage collection and the namespace and garbage-collector controllers
send a grace period of 0 as part of their work: they are neither warned nor hindered, whether controllers run under
accounts of their own or all as one user.
"""

from __future__ import annotations

import logging
from typing import Final

from msgspec import Struct

from podrules.cluster.errors import ClusterError
from podrules.deletion import CONFIRMATION, is_confirmed
from podrules.model.base import ObjectMeta
from podrules.model.pod import Pod
from podrules.priority import is_mirror_pod
from podrules.termination import GraceSource, check_graceful_delete
from webhook.admission_review import Request
from webhook.cluster import Cluster
from webhook.settings import ForceDeletionMode

__all__ = [
    "CONFIRMATION",
    "CONTROLLERS",
    "MODE_LABEL",
    "Ruling",
    "as_read_by_kubectl",
    "confirmation_command",
    "is_confirmed",
    "is_exempt",
    "may_be_refused",
    "may_delete_nodes",
    "may_run",
    "ruling",
]

MODE_LABEL: Final = "kubectl-qos.io/force-delete"
"""On a Namespace: warn, confirm or deny."""

_LOG: Final = logging.getLogger(__name__)
_STRICTNESS: Final = tuple(ForceDeletionMode)
CONTROLLERS: Final = frozenset(
    f"system:serviceaccount:kube-system:{name}"
    for name in ("pod-garbage-collector", "generic-garbage-collector", "namespace-controller", "node-controller")
) | {"system:kube-controller-manager"}
"""PodGC and its like under their own accounts, and all controllers under one where they have none.

Also the cloud's node lifecycle: cloud-controller-manager runs it as node-controller where controllers have accounts
(k8s.io/cloud-provider/app/controllermanager.go at v0.36.3).
"""


class Ruling(Struct, frozen=True):
    """What a namespace asks of a force deletion."""

    mode: ForceDeletionMode
    note: str = ""
    """What is wrong with the Namespace's label, for people to read."""


def is_exempt(request: Request, cluster: Cluster) -> bool:
    """Whether somebody deletes who is not to be bothered."""
    user = request.user_info
    return user.username in CONTROLLERS or user.is_kubelet or user.username in cluster.force_deletion.exempt_users


def may_delete_nodes(request: Request, cluster: Cluster) -> bool:
    """The same of Nodes, which the controllers that are named for it delete, too."""
    return is_exempt(request, cluster) or request.user_info.username in cluster.force_deletion.exempt_node_controllers


def may_run(pod: Pod) -> bool:
    """Whether processes of a pod may outlive its object; no longer a question when it was forced before."""
    source = check_graceful_delete(pod, 0).source
    forced = pod.metadata.deletion_grace_period_seconds == 0
    return not forced and source not in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}


def may_be_refused(pod: Pod) -> bool:
    """Whether a deletion without grace can be told from a plain one, and stops something.

    A pod whose own period is 0 is always deleted without grace, by its controllers too; a mirror pod stops nothing.
    """
    return pod.spec.termination_grace_period_seconds != 0 and not is_mirror_pod(pod)


def ruling(namespace: str, cluster: Cluster) -> Ruling:
    """The mode for a namespace's pods: the configuration's, or its label's where that is stricter."""
    configured = cluster.force_deletion.of(namespace)
    try:
        label = cluster.present_namespace_labels(namespace).get(MODE_LABEL)
    except ClusterError as error:
        _LOG.warning("the label for force deletions of %s does not count, it cannot be read: %s", namespace, error)
        return Ruling(configured, f"Namespace {namespace} cannot be read: {_counts(configured)}")
    if label is None:
        return Ruling(configured)
    try:
        return Ruling(max(configured, ForceDeletionMode(label), key=_STRICTNESS.index))
    except ValueError:
        wrong = f"Namespace {namespace}: label {MODE_LABEL}={label} is none of warn, confirm, deny"
        return Ruling(configured, f"{wrong}: {_counts(configured)}")


def _counts(configured: ForceDeletionMode) -> str:
    return f"the configured mode counts, {configured.value}"


def confirmation_command(resource: str, metadata: ObjectMeta, *, uid: str = "") -> str:
    """What confirms it.

    Args:
        resource: ``pod`` or ``node``.
        metadata: Of the object.
        uid: As the command has it, where that is not the uid itself.
    """
    place = f" -n {metadata.namespace}" if metadata.namespace else ""
    return f"kubectl annotate {resource} {metadata.name}{place} {CONFIRMATION}={uid or metadata.uid} --overwrite"


def as_read_by_kubectl(pod: ObjectMeta, path: str) -> str:
    """A field of a pod as a shell reads it for who may: ``"$(kubectl get pod db-0 -n shop -o jsonpath={.spec.x})"``."""
    return f'"$(kubectl get pod {pod.name} -n {pod.namespace} -o jsonpath={{{path}}})"'
