"""Force deletions of pods: who and which mode the rules apply to, the risk, its words, and the rules themselves."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import ClusterError, NotFound
from cluster_io.force_delete_objects import read_guards, read_reach
from cluster_io.kinds import PODS
from podrules.api.model.pod import Pod
from podrules.api.names import command, is_plain_name
from podrules.ending.attachment import FORCE_DETACH_AFTER, detached_after
from podrules.ending.deleted_pod import holders, pod_ending
from podrules.ending.deletion import CONFIRMATION, is_confirmed
from podrules.ending.volumes import WriterGuard, WriterLock, claimed_volumes
from podrules.node.lost_node import TAINT, collected_within
from podrules.node.reachability import NodeReach, Reach
from podrules.pod.priority import is_mirror_pod
from podrules.pod.termination import GraceSource, check_graceful_delete
from podrules.silent_node.forcing import has_another, lets_second_writer
from podrules.workload.safety import OWNER_RISK, REPLACED_RISK, Guarantee, OwnerGuarantee, owner_guarantee
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import PostedEviction, Request, new_object, old_object
from webhook.reviews.partial_objects import PartialObject
from webhook.reviews.response import ALLOWED, MAX_MESSAGE, MAX_WARNING, Answer, ForceDeletionRecord, denied
from webhook.rules.pod_template import WORKLOADS_WITH_TEMPLATES, TemplateReview
from webhook.settings import ForceDeletionMode

# The clients that the rules for force deletions apply to, and the mode that applies: warn, confirm or deny.
#
# The configuration sets a mode for one namespace or for all. A label on the Namespace can make it stricter and never
# less strict, because everyone who may edit the Namespace can set and remove the label. A label that is not a mode, or
# cannot be read, changes nothing, and the answer says so. For Nodes only the configuration counts: the label of one
# namespace cannot prevent the deletion of a Node.
#
# Kubernetes itself sends a grace period of 0: the kubelet in its last delete of a stopped pod, pod garbage collection,
# and the namespace and garbage-collector controllers. They get neither warnings nor refusals, whether controllers have
# separate accounts or share one user.

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


# The risk of force deleting a pod: its owner's guarantee, its node and its volumes.

_ITS_NODE: Final = "its node"
_MOST_VOLUMES: Final = 16
"""The maximum number of a pod's claimed volumes that are read: each takes three requests."""


class ForceDeleteRisk(Struct, frozen=True):
    """The facts behind a warning about a force deletion."""

    owner: OwnerGuarantee
    node: NodeReach
    volumes: tuple[WriterGuard, ...]
    now: datetime
    """When the facts were read."""
    claims: Mapping[str, str] = {}
    """The names of the claims, by the volumes of the pod that use them."""
    withheld: bool = False
    """Whether names are omitted: the owner's is empty, and the node's is ``its node``."""


def read_force_delete_risk(pod: Pod, cluster: Cluster) -> ForceDeleteRisk:
    """Read the risk of force deleting a pod; facts that cannot be read in time are unknown."""
    live = cluster.live()
    volumes = read_guards(pod, live, _MOST_VOLUMES)
    now = cluster.now()
    try:
        node = read_reach(pod.spec.node_name, cluster.node(pod.spec.node_name), live, now)
    except ClusterError:
        node = NodeReach(pod.spec.node_name, Reach.UNKNOWN, "")
    owner = owner_guarantee(pod)
    # The API server does not validate these texts: a tenant's sentence in them would look like ours.
    if not (is_plain_name(owner.kind.lower()) and is_plain_name(owner.name)):
        owner = replace(owner, kind="", name="")
    if not is_plain_name(node.name):
        node = replace(node, name=_ITS_NODE)
    claims = {one.name: one.claim for one in claimed_volumes(pod) if is_plain_name(one.claim)}
    return ForceDeleteRisk(owner, node, volumes, now, claims)


def as_far_as_read(risk: ForceDeleteRisk, left_out: Collection[str]) -> ForceDeleteRisk:
    """The risk without the lists that were not read (`webhook.reviews.partial_objects`): their facts are unknown."""
    if "metadata.ownerReferences" in left_out:
        risk = replace(risk, owner=OwnerGuarantee(Guarantee.UNKNOWN, "", "", "metadata.ownerReferences"))
    if "spec.volumes" in left_out:
        risk = replace(risk, volumes=(WriterGuard("(too many to read)", WriterLock.UNKNOWN),))
    return risk


def without_names(risk: ForceDeleteRisk) -> ForceDeleteRisk:
    """The same risk without names, for a user who may not be allowed to read the pod."""
    owner, node = replace(risk.owner, kind="", name=""), replace(risk.node, name=_ITS_NODE)
    return replace(risk, owner=owner, node=node, withheld=True)


# Words for the risk of a force deletion: one line about the pod's node and owner, one line about its volumes.
#
# Texts contain times, not durations: the API server may send two reviews, and kubectl prints each distinct text.
# Commands come before details, because a truncated command cannot be run.

_EXPLAIN: Final = "kubectl qos explain pod/{} -n {}"
_MAX_NAMES: Final = 3
FENCE: Final = f"kubectl taint nodes {{}} {TAINT.text}"
_NODES: Final = {
    Reach.SILENT: "{node}, silent{since}",
    Reach.RETURNING: "{node}, which answers again",
    Reach.MISSED_HEARTBEATS: "{node}, without a heartbeat{since}",
    Reach.OUT_OF_SERVICE: "{node}, declared out of service",
    Reach.BACK: "{node}, back in service but for its taint",
    Reach.BACK_NOT_READY: "{node}, which answers again and is still declared out of service",
    Reach.GONE: "{node}, which has no Node object",
    Reach.UNKNOWN: "{node}, state unknown",
}


def first_line(pod: Pod, risk: ForceDeleteRisk) -> str:
    """The pod's node, and what its owner does after the deletion."""
    place, consequence = _place(pod, risk), _consequence(pod, risk)
    texts = [consequence.format(owner="Its owner")]
    if risk.owner.name:
        texts.insert(0, consequence.format(owner=f"{risk.owner.kind} {risk.owner.name}"))
    return fitting(*(_with_ending(pod, risk, place, text) for text in texts))


def _place(pod: Pod, risk: ForceDeleteRisk) -> str:
    """The pod and its node; only the pod if even the name of the node is withheld."""
    if risk.withheld and risk.node.reach not in _NODES:
        return pod.metadata.name
    return f"{pod.metadata.name} on {node_state(risk.node, risk.now)}"


def _consequence(pod: Pod, risk: ForceDeleteRisk) -> str:
    deleted = pod.metadata.deletion_timestamp is not None
    replaced = has_another(risk.owner.guarantee, risk.node.reach, deleted=deleted)
    return REPLACED_RISK if replaced else OWNER_RISK[risk.owner.guarantee]


def _with_ending(pod: Pod, risk: ForceDeleteRisk, place: str, consequence: str) -> str:
    ending = pod_ending(pod)
    if ending.deleted_at is None or ending.static:
        return f"{place}: {consequence}"
    if risk.node.reach.quiet:
        return f"{place}, is already stopping, and its end is unknown: forcing does not stop it sooner; {consequence}"
    if risk.node.reach is Reach.UNKNOWN or risk.node.provider:
        frees = "" if ending.holders else "frees its name and "
        return f"{place}, is already stopping: forcing {frees}does not stop it sooner; {consequence}"
    until = ""
    if ending.ends_by is not None:
        due = "should have ended by" if risk.now > ending.ends_by else "may run until"
        until = f" and {due} {_instant(ending.ends_by, risk.now)}"
    return f"{place} is already stopping{until}: forcing does not stop it sooner; {consequence}"


def capital(text: str) -> str:
    """Capitalize the first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def fitting(*texts: str) -> str:
    """Return the first text that fits into a warning, or else the last."""
    return next((text for text in texts if len(text) <= MAX_WARNING), texts[-1])


def refusal(details: Sequence[str], remedy: str) -> str:
    """Return one line with as many details as leave room for the whole remedy."""
    known = [detail for detail in details if detail]
    texts = ("; ".join((*known[:count], remedy)) for count in range(len(known), -1, -1))
    return next((text for text in texts if len(text) <= MAX_MESSAGE), remedy)


def node_state(node: NodeReach, now: datetime) -> str:
    """``node-c3, silent since 03:02:56 UTC``; only the name if the node answers."""
    since = f" since {_instant(node.since, now)}" if node.since else ""
    return _NODES.get(node.reach, "{node}").format(node=node.name, since=since)


def _instant(when: datetime, now: datetime) -> str:
    return f"{when:%H:%M:%S} UTC" if when.date() == now.date() else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def fencing(node: str, name: str) -> str:
    """The command that declares a machine off: pod garbage collection then deletes the pods that ran there.

    Args:
        node: The node as the text names it.
        name: The name in the command.
    """
    return f"once {node} is off for certain: {command(FENCE, name)}"


def second_line(pod: Pod, risk: ForceDeleteRisk, *, dry_run: bool) -> str:
    """The volumes that may get a second writer, and what to check.

    The client reads it when the pod object no longer exists, except after a dry run.
    """
    texts = [f"check first: {command(_EXPLAIN, *pod_names(pod))}"] if dry_run else _checks(pod, risk)
    at_stake = volumes_at_stake(risk)
    leads = (at_stake, "volumes at stake") if at_stake else ()
    return fitting(*(f"{lead}; {text}" for lead in leads for text in texts), *map(capital, texts))


def _checks(pod: Pod, risk: ForceDeleteRisk) -> list[str]:
    """What to check about a deleted pod, the longest text first."""
    if risk.owner.guarantee is Guarantee.KUBELET_OWNED:
        # Its kubelet recreates the mirror pod.
        return [f"check now: {command(_EXPLAIN, *pod_names(pod))}"]
    died, node = command("kubectl qos died pod/{} -n {}", *pod_names(pod)), pod.spec.node_name
    if risk.withheld or not is_plain_name(node):
        return [f"check now whether it still runs: {died}", f"check now: {died}"]
    where = command("kubectl qos died node/{}" if risk.node.reach is Reach.GONE else "kubectl qos node {}", node)
    names = [one.name for one in pod.spec.containers]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    those = f"containers {', '.join(names[:_MAX_NAMES])}{more} still run"
    whether = (those if len(names) > 1 else f"container {names[0]} still runs" if names else "", "it still runs")
    long = [f"check now whether {text} on {node}: {died}; {where}" for text in whether if text]
    return [*long, f"check now: {died}; {where}", f"check now: {died}"]


def pod_names(pod: Pod) -> tuple[str, str]:
    """The pod's name and namespace, in the order of commands."""
    return pod.metadata.name, pod.metadata.namespace


def volumes_at_stake(risk: ForceDeleteRisk) -> str:
    """The most severe risk of the volumes; empty: all are safe."""
    worst = _worst(risk)
    return "volumes at stake" if worst and risk.withheld else worst


def _worst(risk: ForceDeleteRisk) -> str:
    by_lock = {lock: [guard for guard in risk.volumes if guard.lock is lock] for lock in WriterLock}
    unlocked = [guard for guard in risk.volumes if guard.lock is WriterLock.NONE or guard.lock.of_a_node]
    if found := [guard for guard in unlocked if lets_second_writer(guard, risk.node.reach)]:
        return f"nothing keeps a second writer off {_named(found, risk)}"
    after, node = detached_after(risk.node.reach), risk.node.name
    when = "at once" if after == timedelta() else f"{FORCE_DETACH_AFTER.seconds // 60} min later"
    if by_lock[WriterLock.CONTROLLER] and after is not None:
        named = _named(by_lock[WriterLock.CONTROLLER], risk)
        return f"{named} is detached from {node} {when}, and then nothing keeps a second writer off"
    if by_lock[WriterLock.NODE] and risk.node.reach.quiet:
        return f"{_named(by_lock[WriterLock.NODE], risk)} is on {node} alone: the next pod stays Pending"
    if by_lock[WriterLock.UNKNOWN]:
        return f"whether anything keeps a second writer off {_named(by_lock[WriterLock.UNKNOWN], risk)} is unknown"
    if by_lock[WriterLock.ATTACHMENT] and after is not None:
        named = _named(by_lock[WriterLock.ATTACHMENT], risk)
        return f"{named} is detached from {node} by force {when}"
    return ""


def _named(guards: list[WriterGuard], risk: ForceDeleteRisk) -> str:
    """``volume data (claim data-db-0, NFS, ReadWriteOnce) and 2 more``."""
    first = guards[0]
    claim = risk.claims.get(first.volume)
    what = ", ".join(filter(None, (claim and f"claim {claim}", first.backend, *first.access_modes)))
    more = f" and {len(guards) - 1} more" if len(guards) > 1 else ""
    return f"volume {first.volume}{f' ({what})' if what else ''}{more}"


# Force deletions of pods: by DELETE, by the deletion of a collection, and by eviction.
#
# A grace period of 0 removes the object at once, and nothing waits for its processes. The client gets a warning of two
# lines: a second copy may start, and a second writer may reach a volume. A namespace may require a confirmation, or
# forbid force deletions.
#
# The API server fills in the grace period before the review. So a plain delete of a pod that is not scheduled or has
# finished also has 0, and only the pod distinguishes the two. For a collection the API server fills in nothing: each
# pod's own period counts. ``kubectl delete --force`` causes two or three reviews; the last has the object with a period
# of 0 and is ignored. An eviction causes one review, of ``pods/eviction``, without the pod; the delete that follows
# causes none. A warning arrives when the pod no longer exists, except in a dry run; the rest of a dry run's answer is
# the same. The only side effects are Events (`webhook.reviews.events`), and a dry run creates none.
#
# Any client that reaches the port can forge an eviction. Unless clients authenticate, the answer to an eviction
# contains no name and no uid that the webhook read: its commands read them with the permissions of the user who runs
# them. The review of a deletion contains its pod.

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
    if seen is None:
        return ALLOWED
    pod = seen.object
    # A deletion under way keeps its period.
    is_removed_at_once = pod.metadata.deletion_timestamp is None and pod.spec.termination_grace_period_seconds == 0
    if seconds is None and not is_removed_at_once:
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
        # In a namespace with a rule it is refused: a client that keeps the API server busy must not evade the rule.
        name, namespace = request.name, request.namespace
        _LOG.warning("the pod %s in %s, which is evicted by force, cannot be read: %s", name, namespace, error)
        unknown = f"{name}: the pod cannot be read"
        if mode_of_namespace(namespace, cluster).mode is ForceDeletionMode.WARN:
            return Answer(warnings=(f"{unknown}, so the risk of its force deletion is unknown",))
        return denied(
            f"{unknown}, and namespace {namespace} does not allow all force deletions; try again, or {_EVICT}"
        )
    if not pod.spec.node_name and options.preconditions.resource_version != pod.metadata.resource_version:
        return _unscheduled_pod(request, cluster)
    return _answer(PartialObject(pod), cluster, request, withheld=not cluster.knows_clients, evicted=True)


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
                instead = _instead(pod, risk, evicted=evicted)
                problem = f"namespace {pod.metadata.namespace} forbids force deletions; {instead}"
                return _refused(pod, risk, request, namespace.mode, problem)
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


# Warnings about pods with terminationGracePeriodSeconds 0: every deletion of such a pod is a force deletion.
#
# For the pods of a workload, the client that writes the workload gets the warning: a controller ignores warnings.

_FIELD: Final = "terminationGracePeriodSeconds"
_WARNED_GROUPS: Final = frozenset(group for group, _ in WORKLOADS_WITH_TEMPLATES)
_MEANING: Final = (
    "0, so every deletion is a force deletion: the object is removed at once, and its processes may run on "
    "next to a replacement; 1 or more waits for them"
)


def warn_of_zero_grace(seen: PartialObject[Pod], _cluster: Cluster) -> Answer:
    """Warn the client that creates the pod."""
    pod, owner = seen.object, seen.object.metadata.controller
    if pod.spec.termination_grace_period_seconds != 0 or (owner is not None and owner.group in _WARNED_GROUPS):
        return ALLOWED
    return _warning("spec")


def warn_of_zero_grace_in_template(review: TemplateReview, _cluster: Cluster) -> Answer:
    """Warn the client that creates or changes a workload."""
    if review.is_controlled or review.template.spec.termination_grace_period_seconds != 0:
        return ALLOWED
    return _warning(f"{review.path}.spec")


def _warning(path: str) -> Answer:
    return Answer(warnings=(f"{path}.{_FIELD}: {_MEANING}",))
