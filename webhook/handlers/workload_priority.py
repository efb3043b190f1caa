"""Tells of a class with which pods will be refused in what makes pods, for there the refusal comes later and elsewhere.

A Deployment whose template names an unknown class is stored; its ReplicaSet then fails to create pods, which is told in
an event of the ReplicaSet. So is one of a class that its namespace does not allow, be it named or its pods' default.

    told      of what is created and changed; what a controller owns is passed over: its owner was told of
    refused   when `Options.template_class` says so: what is created, and a change to such a class. What was stored
              before can still be changed otherwise, scaled, and deleted: its finalizers go by updates
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from podrules.cluster.errors import ClusterError
from podrules.priority import UnknownPriorityClass, default_priority_class
from webhook.admission_review import Request, old_object
from webhook.cluster import Cluster
from webhook.handlers.namespace_class import disallowed, namespace_default
from webhook.handlers.pod_template import TemplateOwner, TemplateReview, template_of
from webhook.handlers.suggestions import did_you_mean
from webhook.response import ALLOWED, Answer, denied
from webhook.settings import Verdict

__all__ = ["check_class_of_template"]

_LOG: Final = logging.getLogger(__name__)


class _Problem(NamedTuple):
    """What is wrong with a template's class."""

    text: str
    near: str
    """Names that look like it, to say last."""
    refused: bool
    """Whether its pods will be refused."""


def check_class_of_template(review: TemplateReview, cluster: Cluster) -> Answer:
    """A refusal or a warning of a workload whose pods will be refused."""
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
        and cluster.options.template_class is Verdict.DENY
        and workload.metadata.deletion_timestamp is None
        and not _was_there_before(request, workload, name)
    ):
        group = f".{request.resource.group}" if request.resource.group else ""
        shown = workload.metadata.name or workload.metadata.generate_name
        return denied(f'{request.resource.resource}{group} "{shown}" is forbidden: {text}')
    return Answer(warnings=(text,))


def _problem(name: str, namespace: str, cluster: Cluster) -> _Problem | None:
    if name and not _exists(name, cluster):
        return _Problem(str(UnknownPriorityClass(name)), did_you_mean(name, cluster.priority_classes()), refused=True)
    text = disallowed(name or _default(namespace, cluster), namespace, cluster)
    return _Problem(text, "", cluster.options.disallowed_class is Verdict.DENY) if text else None


def _default(namespace: str, cluster: Cluster) -> str:
    """The class that pods get which name none, as far as it exists; empty: none."""
    classes = cluster.priority_classes()
    name = namespace_default(cluster.namespace(namespace), cluster)
    if name in classes:
        return name
    default = default_priority_class(classes.values())
    return default.metadata.name if default is not None else ""


def _was_there_before(request: Request, workload: TemplateOwner, name: str) -> bool:
    """Whether an update leaves the class of the template as it was."""
    old = old_object(request, type(workload)) if request.operation == "UPDATE" else None
    return old is not None and template_of(old.object).template.spec.priority_class_name == name


def _exists(name: str, cluster: Cluster) -> bool:
    """Whether a class is there that the cache does not have yet; yes when that cannot be found out."""
    try:
        return cluster.priority_class(name, cluster.priority_classes()) is not None
    except ClusterError as error:
        _LOG.warning("PriorityClass %s is taken to exist, it cannot be read: %s", name, error)
        return True
