"""Deletions of Nodes: pod garbage collection then force deletes every pod that names the Node.

    gcOrphaned      if the Node has been missing for 40 s (quarantineTime), its pods are marked failed and deleted with
                    grace period 0

Pods of DaemonSets and mirror pods are ignored: only these remain on a drained node. The deletion of a Node with
finalizers is never refused, because the Node stays until they are removed, and their owner may drain it first.
Controllers that delete the Nodes of removed machines are never refused either: the configuration names them. The
strictest mode of the namespaces that would lose pods applies. Only the configuration's modes count: with a namespace's
label, a tenant could keep every Node.

Unless clients authenticate, the answer counts pods and namespaces and does not name them: the review contains only the
Node, and any client that reaches the port can forge one.

Source: pkg/controller/podgc/gc_controller.go at v1.36.3; k8s.io/cloud-provider/controllers/nodelifecycle at v0.36.3.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from cluster_io.errors import ClusterError
from cluster_io.field_selector import equal_fields
from cluster_io.force_delete_objects import read_reach
from cluster_io.kinds import PODS
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.names import command, is_plain_name
from podrules.ending.deletion import CONFIRMATION, is_confirmed
from podrules.node.reachability import NodeReach, Reach
from podrules.workload.safety import Guarantee, owner_guarantee
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import Request, old_object
from webhook.reviews.response import ALLOWED, Answer, ForceDeletionRecord, denied
from webhook.rules.force_delete import (
    capital,
    fencing,
    fitting,
    may_be_refused,
    may_delete_nodes,
    may_run,
    node_state,
    refusal,
)
from webhook.settings import ForceDeletionMode

_LOG: Final = logging.getLogger(__name__)
_NODES_OWN: Final = frozenset({Guarantee.ONE_PER_NODE, Guarantee.KUBELET_OWNED})
_ANSWER: Final = frozenset({Reach.ANSWERS, Reach.RETURNING, Reach.BACK, Reach.BACK_NOT_READY})
_MAX_NAMES: Final = 3


class _Loss(Struct, frozen=True):
    """The pods that the deletion of a Node would force delete."""

    node: Node
    reach: NodeReach
    state: str
    """The node and its state, in words."""
    pods: tuple[Pod, ...]
    """Sorted: pods of owners that promise at most one first."""
    withheld: bool
    """Whether the answer omits the names of pods and namespaces."""


def review_node_deletion(request: Request, cluster: Cluster) -> Answer:
    """Answer the deletion of a Node with a warning or a refusal that names the pods."""
    if may_delete_nodes(request, cluster):
        return ALLOWED
    seen = old_object(request, Node)
    # A Node has a plain name; with any other, no pod is lost.
    if seen is None or not is_plain_name(seen.object.metadata.name):
        return ALLOWED
    node, live = seen.object, cluster.live()
    try:
        found = live.list(PODS, field_selector=equal_fields(("spec.nodeName", node.metadata.name)))
    except ClusterError as error:
        _LOG.warning("the pods of node %s, which is to be deleted, cannot be read: %s", node.metadata.name, error)
        # Large pods of one tenant must not lift the rule for others.
        name = node.metadata.name
        unknown = f"{name}: the pods that its deletion would force delete cannot be read"
        modes = cluster.force_deletion.modes
        confirmed = ForceDeletionMode.DENY not in modes and is_confirmed(node.metadata)
        if modes == {ForceDeletionMode.WARN} or node.metadata.finalizers or confirmed:
            return Answer(warnings=(unknown,))
        remedy = f"try again, or drain it first: {command('kubectl drain {} --ignore-daemonsets', name)}"
        return denied(f"{unknown}, and the configuration does not allow all force deletions; {remedy}")
    pods = tuple(sorted(filter(_is_lost, found), key=_rank))
    if not pods:
        return ALLOWED
    now = cluster.now()
    reach = read_reach(node.metadata.name, node, live, now)
    loss = _Loss(node, reach, node_state(reach, now), pods, withheld=not cluster.knows_clients)
    if node.metadata.finalizers:
        return Answer(warnings=(_later(loss),))
    forbidding = _configured(ForceDeletionMode.DENY, loss, cluster)
    if forbidding:
        return denied(
            refusal([_losing(loss)], f"forbidden for {_of(forbidding, loss)}; {_remedy(loss)}"),
            ForceDeletionRecord("Node", node.metadata, ForceDeletionMode.DENY),
        )
    asking = _configured(ForceDeletionMode.CONFIRM, loss, cluster)
    if asking and not is_confirmed(node.metadata):
        how = command(
            f"kubectl annotate node {{}} {CONFIRMATION}={{}} --overwrite", node.metadata.name, node.metadata.uid
        )
        safer = f"; {_remedy(loss)}; or, to lose them" if loss.reach.reach in _ANSWER else ""
        return denied(
            refusal([_losing(loss)], f"to be confirmed for {_of(asking, loss)}{safer}: {how}"),
            ForceDeletionRecord("Node", node.metadata, ForceDeletionMode.CONFIRM),
        )
    return Answer(warnings=(_losing(loss), capital(_remedy(loss) if request.dry_run else _check(loss))))


def _is_lost(pod: Pod) -> bool:
    return may_run(pod) and owner_guarantee(pod).guarantee not in _NODES_OWN


def _rank(pod: Pod) -> tuple[bool, str, str]:
    at_most_one = owner_guarantee(pod).guarantee is Guarantee.AT_MOST_ONE
    return not at_most_one, pod.metadata.namespace, pod.metadata.name


def _configured(mode: ForceDeletionMode, loss: _Loss, cluster: Cluster) -> Sequence[str]:
    """The namespaces with this mode that would lose pods."""
    namespaces = {pod.metadata.namespace for pod in loss.pods if may_be_refused(pod)}
    return sorted(name for name in namespaces if cluster.force_deletion.of(name) is mode)


def _of(namespaces: Sequence[str], loss: _Loss) -> str:
    if loss.withheld:
        return "the namespaces of some of them" if len(namespaces) > 1 else "the namespace of some of them"
    return f"namespace {_listed(namespaces)}"


def _losing(loss: _Loss) -> str:
    """The state of the node, and the pods that its deletion force deletes."""
    count = _counted(loss)
    head = f"{loss.state}: without the Node, pod garbage collection force deletes {count} that may still run"
    return fitting(*(f"{head}: {names}" for names in _named(loss)), head)


def _later(loss: _Loss) -> str:
    """The same for a Node that its finalizers still keep."""
    consequence = f"pods that still run there are force deleted, now {_counted(loss)}"
    head = f"{loss.state}: once its finalizers are removed, {consequence}"
    return fitting(*(f"{head}: {names}" for names in _named(loss)), head)


def _counted(loss: _Loss) -> str:
    return f"{len(loss.pods)} pod{'s' if len(loss.pods) > 1 else ''}"


def _named(loss: _Loss) -> Sequence[str]:
    """Lists of pods, from the longest to one name; empty: names are omitted."""
    if loss.withheld:
        return ()
    names = [_pod_name(pod) for pod in loss.pods]
    return [_listed(names, most) for most in range(_MAX_NAMES, 0, -1)]


def _pod_name(pod: Pod) -> str:
    owner = owner_guarantee(pod)
    promise = f" ({owner.kind}, at most one)" if owner.guarantee is Guarantee.AT_MOST_ONE else ""
    return f"{pod.metadata.namespace}/{pod.metadata.name}{promise}"


def _listed(names: Sequence[str], most: int = _MAX_NAMES) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _remedy(loss: _Loss) -> str:
    """What to do before the deletion."""
    if loss.reach.reach in _ANSWER:
        return f"drain it first: {command('kubectl drain {} --ignore-daemonsets', loss.node.metadata.name)}"
    if loss.reach.reach is Reach.OUT_OF_SERVICE:
        return "wait until pod garbage collection has deleted them"
    return fencing(loss.reach.name, loss.node.metadata.name)


def _check(loss: _Loss) -> str:
    """What to do after the deletion: a kubelet registers its Node only when it starts."""
    died = command("kubectl qos died node/{}", loss.node.metadata.name)
    if loss.reach.reach in _ANSWER:
        return f"to keep its pods, restart its kubelet within 40 s: that registers the Node again; check now: {died}"
    return f"check now whether its machine is off, because replacements may start: {died}"
