"""Checks whether the API server or this webhook will refuse the pods of a template because of their class.

The API server stores a Deployment with an unknown class in its template; its ReplicaSet then fails to create pods, and
only an event of the ReplicaSet shows it. The same happens with a class that the namespace does not allow, whether the
template names it or its pods get it by default.

    warning   for every created or changed workload, unless a controller owns it: its owner got the warning
    refusal   if `Options.template_class` is deny, of a new workload and of a change to such a class. A workload that
              was stored before can still be changed otherwise, scaled, and deleted: updates that remove its finalizers
              keep its class
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from cluster_io.errors import ClusterError
from podrules.pod.priority import UnknownPriorityClass, default_priority_class
from podrules.qos_webhook.arguments import RuleMode
from podrules.qos_webhook.defaults import disallowed, namespace_default
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import Request, old_object
from webhook.reviews.response import ALLOWED, Answer, denied
from webhook.rules.pod_template import TemplateOwner, TemplateReview, template_of
from webhook.rules.suggestions import did_you_mean

_LOG: Final = logging.getLogger(__name__)


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
        and cluster.options.template_class is RuleMode.DENY
        and not _keeps_class(request, workload, name)
    ):
        group = f".{request.resource.group}" if request.resource.group else ""
        shown = workload.metadata.name or workload.metadata.generate_name
        return denied(f'{request.resource.resource}{group} "{shown}" is forbidden: {text}')
    return Answer(warnings=(text,))


def _problem(name: str, namespace: str, cluster: Cluster) -> _Problem | None:
    if name and not _exists(name, cluster):
        return _Problem(str(UnknownPriorityClass(name)), did_you_mean(name, cluster.priority_classes()), refused=True)
    text = disallowed(name or _default(namespace, cluster), namespace, cluster.options.rules)
    return _Problem(text, "", cluster.options.disallowed_class is RuleMode.DENY) if text else None


def _default(namespace: str, cluster: Cluster) -> str:
    """The class of pods that name none, if it exists; otherwise empty."""
    classes = cluster.priority_classes()
    name = namespace_default(cluster.namespace(namespace).space, cluster.options.rules)
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
