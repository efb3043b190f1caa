"""Force deletions of pods: by DELETE, of a collection, and by eviction.

A grace period of 0 removes the object at once, and nobody waits for its processes. Whoever asks for it is warned of
what is at stake, in two lines: a second copy, and a second writer. A namespace may want it confirmed, or not at all.

The API server fills the option in before the review, so a plain delete of a pod that is not scheduled or has finished
says 0 as well: the pod tells them apart. Of a collection it fills nothing in: each pod's own period counts. ``kubectl
delete --force`` makes two reviews or three, the last with the object already at 0: it is passed over. An eviction
makes one, of ``pods/eviction``, which holds no pod; the delete that follows makes none. A dry run is answered as the
real one. Answering has no effects but Events of refusals (`webhook.events`), and those not of a dry run.

Anybody who reaches the port can invent an eviction. Unless clients show who they are, the answer to one holds no name
and no uid that was read for it: its commands read them, with the rights of whoever runs them. A deletion holds its pod.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from podrules.cluster.errors import ClusterError, NotFound
from podrules.cluster.kinds import PODS
from podrules.model.pod import Pod
from podrules.pod_gc import collected_within
from podrules.reachability import Reach
from webhook.admission_review import Eviction, Request, new_object, old_object
from webhook.cluster import Cluster
from webhook.force_delete_risk import ForceDeleteRisk, as_far_as_read, read_force_delete_risk, without_names
from webhook.handlers.force_delete_policy import (
    as_read_by_kubectl,
    confirmation_command,
    is_confirmed,
    is_exempt,
    may_be_refused,
    may_run,
    ruling,
)
from webhook.handlers.force_delete_words import fencing, first_line, refusal, second_line, volumes_at_stake
from webhook.partial_objects import Seen
from webhook.response import ALLOWED, Answer, Forced, denied
from webhook.settings import ForceDeletionMode

__all__ = ["review_deletion", "review_eviction"]

_LOG: Final = logging.getLogger(__name__)


def review_deletion(request: Request, cluster: Cluster) -> Answer:
    """What a DELETE of a pod with grace period 0 meets."""
    seconds = request.options.grace_period_seconds if request.options is not None else None
    if seconds or is_exempt(request, cluster):
        return ALLOWED
    seen = old_object(request, Pod)
    if seen is None or (seconds is None and not _goes_at_once(seen.object)):
        return ALLOWED
    return _answer(seen, cluster)


def review_eviction(request: Request, cluster: Cluster) -> Answer:
    """What an eviction with grace period 0 meets."""
    eviction = new_object(request, Eviction)
    options = eviction.object.delete_options if eviction is not None else None
    if options is None or options.grace_period_seconds != 0 or is_exempt(request, cluster):
        return ALLOWED
    try:
        pod = cluster.live().get(PODS, request.name, request.namespace)
    except NotFound:
        return ALLOWED
    except ClusterError as error:
        return _unread(request, cluster, error)
    return _answer(Seen(pod), cluster, withheld=not cluster.knows_clients)


def _goes_at_once(pod: Pod) -> bool:
    """Whether a deletion of which no period is asked is one without grace; one that is under way stays as it is."""
    return pod.metadata.deletion_timestamp is None and pod.spec.termination_grace_period_seconds == 0


def _answer(seen: Seen[Pod], cluster: Cluster, *, withheld: bool = False) -> Answer:
    pod = seen.object
    if not may_run(pod):
        return ALLOWED
    asked = ruling(pod.metadata.namespace, cluster)
    stakes = as_far_as_read(read_force_delete_risk(pod, cluster), seen.left_out)
    if withheld:
        stakes = without_names(stakes)
    if may_be_refused(pod):
        match asked.mode:
            case ForceDeletionMode.CONFIRM if not is_confirmed(pod.metadata):
                return denied(
                    refusal(_details(pod, stakes), _confirming(pod, stakes)), Forced("Pod", pod.metadata, asked.mode)
                )
            case ForceDeletionMode.DENY:
                return denied(
                    refusal(_details(pod, stakes), _forbidding(pod, stakes)), Forced("Pod", pod.metadata, asked.mode)
                )
    lines = (first_line(pod, stakes), second_line(pod, stakes), asked.note)
    return Answer(warnings=tuple(line for line in lines if line))


def _unread(request: Request, cluster: Cluster, error: ClusterError) -> Answer:
    """What the eviction of a pod meets that does not come in time: else who keeps the API server busy breaks a rule."""
    name, namespace = request.name, request.namespace
    _LOG.warning("the pod %s in %s, whose eviction is forced, cannot be read: %s", name, namespace, error)
    unknown = f"{name}: the pod cannot be read"
    if ruling(namespace, cluster).mode is ForceDeletionMode.WARN:
        return Answer(warnings=(f"{unknown}, so what its force deletion puts at stake is unknown",))
    return denied(
        f"{unknown}, and namespace {namespace} does not let all force deletions through; "
        "try again, or evict it with grace, without --grace-period=0"
    )


def _details(pod: Pod, stakes: ForceDeleteRisk) -> Sequence[str]:
    return first_line(pod, stakes), volumes_at_stake(stakes)


def _confirming(pod: Pod, stakes: ForceDeleteRisk) -> str:
    """The command that takes on what is at stake."""
    uid = as_read_by_kubectl(pod.metadata, ".metadata.uid") if stakes.withheld else ""
    command = confirmation_command("pod", pod.metadata, uid=uid)
    return f"namespace {pod.metadata.namespace} wants it confirmed: {command}"


def _forbidding(pod: Pod, stakes: ForceDeleteRisk) -> str:
    """What there is to do in place of force."""
    return f"namespace {pod.metadata.namespace} forbids force deletions; {_instead(pod, stakes)}"


def _instead(pod: Pod, stakes: ForceDeleteRisk) -> str:
    node = stakes.node
    deleted = pod.metadata.deletion_timestamp is not None
    if collected_within(node.reach, deleted=deleted) is not None:
        return "pod garbage collection removes it by itself"
    match node.reach:
        case Reach.ANSWERS | Reach.RETURNING | Reach.BACK | Reach.BACK_NOT_READY | Reach.OUT_OF_SERVICE if not deleted:
            return f"delete it with grace: kubectl delete pod {pod.metadata.name} -n {pod.metadata.namespace}"
        case Reach.ANSWERS | Reach.RETURNING | Reach.BACK:
            return "wait until it has stopped"
    return fencing(node.name, as_read_by_kubectl(pod.metadata, ".spec.nodeName") if stakes.withheld else "")
