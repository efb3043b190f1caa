"""The clients that the rules for force deletions apply to, and the mode that applies: warn, confirm or deny.

The configuration sets a mode for one namespace or for all. A label on the Namespace can make it stricter and never
less strict, because everyone who may edit the Namespace can set and remove the label. A label that is not a mode, or
cannot be read, changes nothing, and the answer says so. For Nodes only the configuration counts: the label of one
namespace cannot prevent the deletion of a Node.

Kubernetes itself sends a grace period of 0: the kubelet in its last delete of a stopped pod, pod garbage collection,
and the namespace and garbage-collector controllers. They get neither warnings nor refusals, whether controllers have
separate accounts or share one user.
"""

from __future__ import annotations

import logging
from typing import Final

from msgspec import Struct

from cluster_io.errors import ClusterError
from podrules.api.model.pod import Pod
from podrules.pod.priority import is_mirror_pod
from podrules.pod.termination import GraceSource, check_graceful_delete
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import Request
from webhook.settings import ForceDeletionMode

MODE_LABEL: Final = "kubectl-qos.io/force-delete"
"""The label of a Namespace; its value is warn, confirm or deny."""

_LOG: Final = logging.getLogger(__name__)
_STRICTNESS: Final = tuple(ForceDeletionMode)
CONTROLLERS: Final = frozenset(
    f"system:serviceaccount:kube-system:{name}"
    for name in ("pod-garbage-collector", "generic-garbage-collector", "namespace-controller", "node-controller")
) | {"system:kube-controller-manager"}
"""The accounts of controllers, and the user that all controllers share if they have no accounts.

This includes the cloud's node lifecycle: cloud-controller-manager runs it as node-controller if controllers have
accounts (k8s.io/cloud-provider/app/controllermanager.go at v0.36.3).
"""


class NamespaceMode(Struct, frozen=True):
    """The mode for the pods of a namespace."""

    mode: ForceDeletionMode
    note: str = ""
    """The problem with the Namespace's label, as a sentence; empty: none."""


def is_exempt(request: Request, cluster: Cluster) -> bool:
    """Whether the client is a controller, a kubelet or an exempt user."""
    user = request.user_info
    return user.username in CONTROLLERS or user.is_kubelet or user.username in cluster.force_deletion.exempt_users


def may_delete_nodes(request: Request, cluster: Cluster) -> bool:
    """Whether the client is exempt, or a controller that the configuration allows to delete Nodes."""
    return is_exempt(request, cluster) or request.user_info.username in cluster.force_deletion.exempt_node_controllers


def may_run(pod: Pod) -> bool:
    """Whether processes of a pod may outlive its object; False after an earlier force deletion."""
    source = check_graceful_delete(pod, 0).source
    forced = pod.metadata.deletion_grace_period_seconds == 0
    return not forced and source not in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}


def may_be_refused(pod: Pod) -> bool:
    """Whether a force deletion differs from a plain deletion, and stops something.

    A pod with terminationGracePeriodSeconds 0 is always deleted without grace, also by its controllers. The deletion of
    a mirror pod stops nothing.
    """
    return pod.spec.termination_grace_period_seconds != 0 and not is_mirror_pod(pod)


def mode_of_namespace(namespace: str, cluster: Cluster) -> NamespaceMode:
    """The mode of the configuration, or of the Namespace's label if that is stricter."""
    configured = cluster.force_deletion.of(namespace)
    try:
        label = cluster.present_namespace_labels(namespace).get(MODE_LABEL)
    except ClusterError as error:
        _LOG.warning("the label for force deletions of %s cannot be read and is ignored: %s", namespace, error)
        return NamespaceMode(configured, f"Namespace {namespace} cannot be read: {_counts(configured)}")
    if label is None:
        return NamespaceMode(configured)
    try:
        return NamespaceMode(max(configured, ForceDeletionMode(label), key=_STRICTNESS.index))
    except ValueError:
        wrong = f"Namespace {namespace}: label {MODE_LABEL}={label} is none of warn, confirm, deny"
        return NamespaceMode(configured, f"{wrong}: {_counts(configured)}")


def _counts(configured: ForceDeletionMode) -> str:
    return f"the configured mode counts, {configured.value}"
