"""Force deletions of pods: by DELETE, by the deletion of a collection, and by eviction.

A grace period of 0 removes the object at once, and nothing waits for its processes. The client gets a warning of two
lines: a second copy may start, and a second writer may reach a volume. A namespace may require a confirmation, or
forbid force deletions.

The API server fills in the grace period before the review. So a plain delete of a pod that is not scheduled or has
finished also has 0, and only the pod distinguishes the two. For a collection the API server fills in nothing: each
pod's own period counts. ``kubectl delete --force`` causes two or three reviews; the last has the object with a period
of 0 and is ignored. An eviction causes one review, of ``pods/eviction``, without the pod; the delete that follows
causes none. A warning arrives when the pod no longer exists, except in a dry run; the rest of a dry run's answer is the
same. The only side effects are Events (`webhook.reviews.events`), and a dry run creates none.

Any client that reaches the port can forge an eviction. Unless clients authenticate, the answer to an eviction contains
no name and no uid that the webhook read: its commands read them with the permissions of the user who runs them. The
review of a deletion contains its pod.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from cluster_io.errors import ClusterError, NotFound
from cluster_io.kinds import PODS
from podrules.api.model.pod import Pod
from podrules.api.plain_names import command, is_plain_name
from podrules.ending.deleted_pod import holders
from podrules.ending.deletion import CONFIRMATION, is_confirmed
from podrules.node.pod_gc import collected_within
from podrules.node.reachability import Reach
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import PostedEviction, Request, new_object, old_object
from webhook.reviews.partial_objects import PartialObject
from webhook.reviews.response import ALLOWED, Answer, ForceDeletionRecord, denied
from webhook.rules.force_delete_policy import is_exempt, may_be_refused, may_run, mode_of_namespace
from webhook.rules.force_delete_risk import ForceDeleteRisk, as_far_as_read, read_force_delete_risk, without_names
from webhook.rules.force_delete_words import (
    FENCE,
    fencing,
    first_line,
    pod_names,
    refusal,
    second_line,
    volumes_at_stake,
)
from webhook.settings import ForceDeletionMode

_LOG: Final = logging.getLogger(__name__)
_CONFIRM: Final = f"kubectl annotate pod {{}} -n {{}} {CONFIRMATION}={{}} --overwrite"
_READ: Final = '"$(kubectl get pod {0} -n {1} -o jsonpath={{.%s}})"'
"""A field of a pod, read with the permissions of the user who runs the command."""
_CONFIRM_UNSEEN: Final = f"kubectl annotate pod {{0}} -n {{1}} {CONFIRMATION}={_READ % 'metadata.uid'} --overwrite"
_FENCE_UNSEEN: Final = FENCE.replace("{}", _READ % "spec.nodeName")
_EVICT: Final = (
    "evict it with grace: drain again without --grace-period=0, or leave deleteOptions.gracePeriodSeconds out of the "
    "Eviction"
)
"""A refused eviction never suggests a deletion instead: a deletion bypasses PodDisruptionBudgets."""


def review_deletion(request: Request, cluster: Cluster) -> Answer:
    """Answer a DELETE of a pod."""
    seconds = request.options.grace_period_seconds if request.options is not None else None
    if seconds or is_exempt(request, cluster):
        return ALLOWED
    seen = old_object(request, Pod)
    if seen is None or (seconds is None and not _is_removed_at_once(seen.object)):
        return ALLOWED
    return _answer(seen, cluster, request)


def review_eviction(request: Request, cluster: Cluster) -> Answer:
    """Answer an eviction."""
    eviction = new_object(request, PostedEviction)
    options = eviction.object.delete_options if eviction is not None else None
    if options is None or options.grace_period_seconds != 0 or is_exempt(request, cluster):
        return ALLOWED
    if options.dry_run:
        request = replace(request, dry_run=True)
    try:
        pod = cluster.live().get(PODS, request.name, request.namespace)
    except NotFound:
        return ALLOWED
    except ClusterError as error:
        return _unreadable_pod(request, cluster, error)
    if not pod.spec.node_name and options.preconditions.resource_version != pod.metadata.resource_version:
        return _unscheduled_pod(request, cluster)
    return _answer(PartialObject(pod), cluster, request, withheld=not cluster.knows_clients, evicted=True)


def _is_removed_at_once(pod: Pod) -> bool:
    """Whether a deletion without a period removes the pod at once; a deletion under way keeps its period."""
    return pod.metadata.deletion_timestamp is None and pod.spec.termination_grace_period_seconds == 0


def _answer(
    seen: PartialObject[Pod], cluster: Cluster, request: Request, *, withheld: bool = False, evicted: bool = False
) -> Answer:
    pod = seen.object
    if not may_run(pod):
        return ALLOWED
    namespace = mode_of_namespace(pod.metadata.namespace, cluster)
    risk = as_far_as_read(read_force_delete_risk(pod, cluster), seen.left_out)
    if withheld:
        risk = without_names(risk)
    if may_be_refused(pod):
        match namespace.mode:
            case ForceDeletionMode.CONFIRM if not is_confirmed(pod.metadata):
                return _refused(pod, risk, request, namespace.mode, _confirming(pod, risk, evicted=evicted))
            case ForceDeletionMode.DENY:
                return _refused(pod, risk, request, namespace.mode, _forbidding(pod, risk, evicted=evicted))
    lines = (first_line(pod, risk), second_line(pod, risk, dry_run=bool(request.dry_run)), namespace.note)
    # A budget may still refuse an eviction after its review.
    forced = None
    if request.operation == "DELETE" and may_be_refused(pod):
        known = "; ".join(filter(None, _details(pod, risk)))
        forced = ForceDeletionRecord("Pod", pod.metadata, namespace.mode, known, pod.spec.node_name)
    return Answer(warnings=tuple(line for line in lines if line), forced=forced)


def _refused(pod: Pod, risk: ForceDeleteRisk, request: Request, mode: ForceDeletionMode, remedy: str) -> Answer:
    # The options in an Eviction can make it a dry run, although the request itself is not one.
    forced = None if request.dry_run else ForceDeletionRecord("Pod", pod.metadata, mode)
    return denied(refusal(_details(pod, risk), remedy), forced)


def _unreadable_pod(request: Request, cluster: Cluster, error: ClusterError) -> Answer:
    """Answer the eviction of a pod that cannot be read.

    In a namespace with a rule it is refused: a client that keeps the API server busy must not evade the rule.
    """
    name, namespace = request.name, request.namespace
    _LOG.warning("the pod %s in %s, which is evicted by force, cannot be read: %s", name, namespace, error)
    unknown = f"{name}: the pod cannot be read"
    if mode_of_namespace(namespace, cluster).mode is ForceDeletionMode.WARN:
        return Answer(warnings=(f"{unknown}, so the risk of its force deletion is unknown",))
    return denied(f"{unknown}, and namespace {namespace} does not allow all force deletions; try again, or {_EVICT}")


def _unscheduled_pod(request: Request, cluster: Cluster) -> Answer:
    """Answer the eviction of a pod on no node, which may run when it is evicted.

    After a conflict the API server retries for ten seconds, without another review, to evict the pod that has the name
    then, unless the eviction has the pod's resourceVersion (pkg/registry/core/pod/storage/eviction.go at v1.36.3).
    """
    name, namespace = request.name, request.namespace
    if mode_of_namespace(namespace, cluster).mode is ForceDeletionMode.WARN:
        return ALLOWED
    return denied(
        f"{name}: the pod is on no node, but may run when it is evicted, and namespace {namespace} does not allow all "
        f"force deletions; {_EVICT}: on no node it is removed at once"
    )


def _details(pod: Pod, risk: ForceDeleteRisk) -> Sequence[str]:
    return first_line(pod, risk), volumes_at_stake(risk)


def _confirming(pod: Pod, risk: ForceDeleteRisk, *, evicted: bool) -> str:
    """The command that confirms the deletion; for an eviction, first the alternative without a confirmation."""
    how = command(_CONFIRM_UNSEEN if risk.withheld else _CONFIRM, *pod_names(pod), pod.metadata.uid)
    safer = f"; {_EVICT}, or" if evicted and _instead(pod, risk, evicted=evicted) == _EVICT else ""
    return f"namespace {pod.metadata.namespace} requires a confirmation{safer}: {how}"


def _forbidding(pod: Pod, risk: ForceDeleteRisk, *, evicted: bool) -> str:
    """The alternative to a force deletion."""
    return f"namespace {pod.metadata.namespace} forbids force deletions; {_instead(pod, risk, evicted=evicted)}"


def _instead(pod: Pod, risk: ForceDeleteRisk, *, evicted: bool) -> str:
    node = risk.node
    deleted = pod.metadata.deletion_timestamp is not None
    # If the node has no plain name, pod garbage collection cannot write the pod's status (ValidatePodStatusUpdate).
    if is_plain_name(pod.spec.node_name) and collected_within(node.reach, deleted=deleted) is not None:
        kept = (
            "pod garbage collection deletes it by itself, and finalizers keep the object until their owners remove them"
        )
        return kept if holders(pod.metadata.finalizers) else "pod garbage collection removes it by itself"
    match node.reach:
        case Reach.BACK_NOT_READY if not deleted:
            return "first take its node back: until it is Ready, pod garbage collection removes pods deleted there"
        case Reach.ANSWERS | Reach.RETURNING | Reach.BACK | Reach.OUT_OF_SERVICE if not deleted:
            delete = command("kubectl delete pod {} -n {}", *pod_names(pod))
            return _EVICT if evicted else f"delete it with grace: {delete}"
        case Reach.ANSWERS | Reach.RETURNING | Reach.BACK:
            return "wait until it has stopped"
    if risk.withheld:
        return f"once {node.name} is off for certain: {command(_FENCE_UNSEEN, *pod_names(pod), pod.spec.node_name)}"
    return fencing(node.name, pod.spec.node_name)
