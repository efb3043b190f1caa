"""PriorityClasses: the priority of new pods, and classes of workloads that would be refused.

The priority of new pods: class, priority and preemptionPolicy together.

    a class is named          its value and policy; a class that is unknown or contradicts the pod's fields is refused
      but not allowed         a refusal or a warning: `priorityClasses.disallowed`
    none is named             the namespace's default, else the cluster's global default, else 0

The API server's own Priority plugin runs before webhooks and does the same without namespaces. It fills in the global
default before any webhook sees the pod. managedFields show that the author did not name it, and the namespace's
default then replaces it.

    the plugin is on     it runs again after a mutation, and refuses a class and a priority that do not match. So the
                         patch sets only the class and removes the fields that the plugin filled in: the plugin then
                         fills in the current values of the class, whatever a cache contains
    the plugin is off    nothing else resolves a class or refuses an unknown one: the patch sets all three fields

The handler never sets or refuses a class based only on a cache: the class may have changed a moment ago.

ResourceQuota counts after mutating and validating webhooks. So a quota of PriorityClasses counts the class that is
filled in here, and a pod that is refused here uses no quota.

Source: pkg/kubeapiserver/options/plugins.go, plugin/pkg/admission/priority/admission.go at v1.36.3;
pkg/admission/plugin/webhook/mutating/dispatcher.go (SetShouldReinvoke), pkg/admission/reinvocation.go of
k8s.io/apiserver at v0.36.3.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from heapq import nsmallest
from typing import Final, NamedTuple

from cluster_io.errors import ClusterError
from cluster_io.kinds import PRIORITY_CLASSES
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PriorityClass
from podrules.pod.priority import (
    PrioritySource,
    ResolvedPriority,
    UnknownPriorityClass,
    admit_pod_create,
    default_priority_class,
    resolve_priority,
)
from podrules.qos_webhook.defaults import disallowed, namespace_default, not_given
from podrules.qos_webhook.rules import RuleMode, WarningLevel
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import Request, old_object
from webhook.reviews.new_pod import NewPod
from webhook.reviews.partial_objects import PartialObject
from webhook.reviews.response import ALLOWED, Answer, PatchOperation, add, combined, denied, remove
from webhook.rules.pod_template import TemplateOwner, TemplateReview, template_of

_LOG: Final = logging.getLogger(__name__)


def default_priority(new: NewPod, cluster: Cluster) -> Answer:
    """Patch the fields of its class that a new pod lacks."""
    pod, name = new.pod, namespace_default(new.namespace.space, cluster.options)
    if not name or name == pod.spec.priority_class_name:
        return _resolve(pod, cluster)
    classes = cluster.recent_classes()
    if _is_chosen(new, classes):
        return _resolve(pod, cluster)
    try:
        found = cluster.priority_class(name, classes)
    except ClusterError as error:
        _LOG.warning("a pod in %s gets no default class: %s cannot be read: %s", pod.metadata.namespace, name, error)
        return _resolve(pod, cluster)
    resolved = resolve_priority(name, {name: found} if found is not None else {})
    if isinstance(resolved, UnknownPriorityClass):
        return combined((Answer(warnings=(not_given(pod.metadata.namespace, resolved),)), _resolve(pod, cluster)))
    warnings = _default_warnings(resolved, f"the default of {pod.metadata.namespace}", cluster)
    return Answer(patch=_class_alone(new, resolved) or _patch(pod, resolved), warnings=warnings)


def refuse_unknown_class(seen: PartialObject[Pod], cluster: Cluster) -> Answer:
    """Refuse, as upstream does, a class that does not exist or does not match the priority; add similar names."""
    pod = seen.object
    if not isinstance(admit_pod_create(pod, cluster.priority_classes()), str):
        return ALLOWED
    try:
        classes = {entry.metadata.name: entry for entry in cluster.live().list(PRIORITY_CLASSES)}
    except ClusterError as error:
        _LOG.warning("a pod in %s is allowed: PriorityClasses cannot be read: %s", pod.metadata.namespace, error)
        return ALLOWED
    refusal = admit_pod_create(pod, classes)
    if not isinstance(refusal, str):
        return ALLOWED
    unknown = isinstance(resolve_priority(pod.spec.priority_class_name, classes), UnknownPriorityClass)
    return denied(refusal + did_you_mean(pod.spec.priority_class_name, classes) if unknown else refusal)


def refuse_disallowed_class(seen: PartialObject[Pod], cluster: Cluster) -> Answer:
    """Refuse a class that the pod's namespace does not allow, or warn, as configured."""
    pod = seen.object
    problem = disallowed(pod.spec.priority_class_name, pod.metadata.namespace, cluster.options)
    if not problem:
        return ALLOWED
    if cluster.options.priority_classes.disallowed is RuleMode.WARN:
        return Answer(warnings=(f"spec.priorityClassName: {problem}",))
    return denied(f'pods "{pod.metadata.name or pod.metadata.generate_name}" is forbidden: {problem}')


def _is_chosen(new: NewPod, classes: Mapping[str, PriorityClass]) -> bool:
    """Whether the pod's author or another webhook chose its class; managedFields do not show webhooks."""
    named = classes.get(new.pod.spec.priority_class_name)
    is_global_default = named is not None and named.global_default
    return new.pod.spec.priority_class_name != "" and not (is_global_default and not new.wrote("priorityClassName"))


def _class_alone(new: NewPod, resolved: ResolvedPriority) -> tuple[PatchOperation, ...]:
    """Set the class and remove the fields that the API server's plugin filled in; empty: the plugin has not run."""
    spec = new.pod.spec
    if spec.priority is None or new.wrote("priority"):
        return ()
    filled_in = (("priority", spec.priority), ("preemptionPolicy", spec.preemption_policy))
    return (
        add("/spec/priorityClassName", resolved.priority_class_name),
        *(remove(f"/spec/{name}") for name, value in filled_in if value is not None),
    )


def _resolve(pod: Pod, cluster: Cluster) -> Answer:
    """Patch as the API server's plugin would, if it has not run."""
    if pod.spec.priority is not None and pod.spec.preemption_policy is not None:
        return ALLOWED
    resolved = admit_pod_create(pod, _classes_for(pod, cluster))
    # A pod that cannot be resolved stays as it is: the validating webhook decides whether to refuse it.
    if isinstance(resolved, str):
        return ALLOWED
    # A pod with a priority and no class was resolved without a class, and stays so.
    if pod.spec.priority is not None and pod.spec.priority_class_name != resolved.priority_class_name:
        return ALLOWED
    patch = _patch(pod, resolved)
    is_default = patch and resolved.source is PrioritySource.GLOBAL_DEFAULT
    warnings = _default_warnings(resolved, "the cluster's default", cluster) if is_default else ()
    return Answer(patch=patch, warnings=warnings)


def _classes_for(pod: Pod, cluster: Cluster) -> Mapping[str, PriorityClass]:
    """All classes, with the pod's own class if the cache does not have it yet."""
    classes, name = cluster.recent_classes(), pod.spec.priority_class_name
    if not name or name in classes:
        return classes
    try:
        newer = cluster.priority_class(name, classes)
    except ClusterError as error:
        _LOG.warning("a pod in %s is not resolved: %s cannot be read: %s", pod.metadata.namespace, name, error)
        return classes
    return classes if newer is None else {**classes, name: newer}


def _patch(pod: Pod, resolved: ResolvedPriority) -> tuple[PatchOperation, ...]:
    """Set the fields that are missing or different."""
    wanted = (
        ("priorityClassName", pod.spec.priority_class_name, resolved.priority_class_name),
        ("priority", pod.spec.priority, resolved.priority),
        ("preemptionPolicy", pod.spec.preemption_policy, resolved.preemption_policy),
    )
    return tuple(add(f"/spec/{name}", value) for name, given, value in wanted if given != value)


def _default_warnings(resolved: ResolvedPriority, origin: str, cluster: Cluster) -> tuple[str, ...]:
    """The warning about the filled-in default, if the configuration enables such warnings."""
    if cluster.options.warnings is not WarningLevel.VERBOSE:
        return ()
    filled_in = f"{resolved.priority_class_name} (priority {resolved.priority}, {resolved.preemption_policy})"
    return (f"spec.priorityClassName: {filled_in} is filled in, {origin}",)


# Checks whether the API server or this webhook will refuse the pods of a template because of their class.
#
# The API server stores a Deployment with an unknown class in its template; its ReplicaSet then fails to create pods,
# and only an event of the ReplicaSet shows it. The same happens with a class that the namespace does not allow, whether
# the template names it or its pods get it by default.
#
#     warning   for every created or changed workload, unless a controller owns it: its owner got the warning
#     refusal   if `priorityClasses.templates` is deny, of a new workload and of a change to such a class. A workload
#               that was stored before can still be changed otherwise, scaled, and deleted: updates that remove its
#               finalizers keep its class


class _Problem(NamedTuple):
    """The problem with a template's class."""

    text: str
    near: str
    """The suggestion of similar names at the end of the message."""
    refused: bool
    """Whether its pods will be refused."""


def check_class_of_template(review: TemplateReview, cluster: Cluster) -> Answer:
    """Refuse a workload, or warn, if its pods will be refused."""
    if review.is_controlled:
        return ALLOWED
    request, workload, path = review.request, review.workload.object, review.path
    name = review.template.spec.priority_class_name
    problem = _problem(name, request.namespace, cluster)
    if problem is None:
        return ALLOWED
    consequence = ", its pods will be refused" if problem.refused else ""
    text = f"{path}.spec.priorityClassName: {problem.text}{consequence}{problem.near}"
    if (
        problem.refused
        and cluster.options.priority_classes.templates is RuleMode.DENY
        and not _keeps_class(request, workload, name)
    ):
        group = f".{request.resource.group}" if request.resource.group else ""
        shown = workload.metadata.name or workload.metadata.generate_name
        return denied(f'{request.resource.resource}{group} "{shown}" is forbidden: {text}')
    return Answer(warnings=(text,))


def _problem(name: str, namespace: str, cluster: Cluster) -> _Problem | None:
    if name and not _exists(name, cluster):
        return _Problem(str(UnknownPriorityClass(name)), did_you_mean(name, cluster.priority_classes()), refused=True)
    text = disallowed(name or _default(namespace, cluster), namespace, cluster.options)
    return _Problem(text, "", cluster.options.priority_classes.disallowed is RuleMode.DENY) if text else None


def _default(namespace: str, cluster: Cluster) -> str:
    """The class of pods that name none, if it exists; otherwise empty."""
    classes = cluster.priority_classes()
    name = namespace_default(cluster.namespace(namespace).space, cluster.options)
    if name in classes:
        return name
    default = default_priority_class(classes.values())
    return default.metadata.name if default is not None else ""


def _keeps_class(request: Request, workload: TemplateOwner, name: str) -> bool:
    """Whether an update keeps the class of the template."""
    old = old_object(request, type(workload)) if request.operation == "UPDATE" else None
    return old is not None and template_of(old.object).template.spec.priority_class_name == name


def _exists(name: str, cluster: Cluster) -> bool:
    """Whether a class exists, also if the cache lacks it; True when it cannot be read."""
    try:
        return cluster.priority_class(name, cluster.priority_classes()) is not None
    except ClusterError as error:
        _LOG.warning("PriorityClass %s cannot be read and is assumed to exist: %s", name, error)
        return True


_MOST: Final = 3
_LONGEST: Final = 253
"""No object has a longer name. The time of a comparison grows with the square of the length."""
_MAX_COMPARED: Final = 100
"""The number of names with the nearest length that are compared: one takes up to 0.1 ms."""


def did_you_mean(name: str, existing: Iterable[str]) -> str:
    """``; did you mean shop-high or shop-low?``; empty: no name is similar."""
    if len(name) > _LONGEST:
        return ""
    compared = list(existing)
    if len(compared) > _MAX_COMPARED:
        compared = nsmallest(_MAX_COMPARED, compared, key=lambda other: (abs(len(other) - len(name)), other))
    near = get_close_matches(name, sorted(compared), n=_MOST)
    return f"; did you mean {' or '.join(near)}?" if near else ""
