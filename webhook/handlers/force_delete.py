"""Warns whoever force deletes a pod of what this pod's owner then no longer keeps.

A grace period of 0 removes the object at once, and nobody waits for its processes. The API server fills the option in
before the review, so a plain delete of a pod that is not scheduled or has finished says 0 as well: the pod tells them
apart. ``kubectl delete --force`` makes two reviews, the second with the object already at 0: it is passed over.
The kubelet's last delete of a stopped pod, pod garbage collection and the namespace and garbage-collector controllers
send 0 as part of their work: they are never bothered.
"""

from __future__ import annotations

from typing import Final

from podrules.model.pod import Pod
from podrules.safety import Guarantee, OwnerGuarantee, owner_guarantee
from podrules.termination import GraceSource, check_graceful_delete
from webhook.response import ALLOWED, Answer
from webhook.review import Request, old_pod

__all__ = ["warn_of_force_delete"]

_CONTROLLERS: Final = frozenset(
    f"system:serviceaccount:kube-system:{name}"
    for name in ("pod-garbage-collector", "generic-garbage-collector", "namespace-controller", "node-controller")
) | {"system:kube-controller-manager"}
"""PodGC and its like under their own accounts, and all controllers under one where they have none."""

_RISKS: Final = {
    Guarantee.AT_MOST_ONE: "{kind} {owner} keeps at most one {pod}, but a second may start while this one still runs",
    Guarantee.AVAILABILITY_FIRST: "{kind} {owner} may start a replacement while {pod} still runs",
    Guarantee.ONE_PER_NODE: "{kind} {owner} may start the next copy on {node} while {pod} still runs",
    Guarantee.RUNS_TO_COMPLETION: "{kind} {owner} may start the work again while {pod} still does it",
    Guarantee.KUBELET_OWNED: "{pod} mirrors a static pod of {node}: deleting it stops nothing",
    Guarantee.NOT_REPLACED: "nobody replaces {pod}, and its processes may run on",
    Guarantee.UNKNOWN: "{kind} {owner} decides whether a second {pod} starts while this one still runs",
}


def warn_of_force_delete(request: Request) -> Answer:
    """A warning for a person's force deletion of a pod that may be running."""
    if (request.resource.group, request.resource.resource) != ("", "pods") or request.sub_resource:
        return ALLOWED
    if request.operation != "DELETE" or request.options is None or request.options.grace_period_seconds != 0:
        return ALLOWED
    if _is_part_of_the_work(request):
        return ALLOWED
    pod = old_pod(request)
    if pod is None or pod.metadata.deletion_grace_period_seconds == 0 or not _may_run(pod):
        return ALLOWED
    return Answer(warnings=_warnings(pod, owner_guarantee(pod)))


def _is_part_of_the_work(request: Request) -> bool:
    user = request.user_info
    return user.username in _CONTROLLERS or "system:nodes" in (user.groups or ())


def _may_run(pod: Pod) -> bool:
    source = check_graceful_delete(pod, 0).source
    return source not in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}


def _warnings(pod: Pod, owner: OwnerGuarantee) -> tuple[str, ...]:
    name, node = pod.metadata.name, pod.spec.node_name
    risk = _RISKS[owner.guarantee].format(kind=owner.kind, owner=owner.name, pod=name, node=node)
    check = f"Check first: kubectl qos explain pod/{name} -n {pod.metadata.namespace}"
    if pod.metadata.deletion_timestamp is not None:
        return (f"{name} is already stopping on {node}: forcing frees its name and stops nothing sooner; {risk}", check)
    return (f"{name} on {node}: {risk}", check)
