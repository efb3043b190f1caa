"""Warns of a class that does not exist in what makes pods, for there the refusal of its pods comes later and elsewhere.

A Deployment whose template names an unknown class is stored; its ReplicaSet then fails to create pods, which is told in
an event of the ReplicaSet. What a controller owns is passed over: its owner was warned of.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from podrules.cluster.errors import ClusterError, NotFound
from podrules.cluster.kinds import PRIORITY_CLASSES, REPLICATION_CONTROLLERS, WORKLOADS
from podrules.model.workload import CronJob, Workload
from podrules.priority import UnknownPriorityClass
from webhook.cluster import Cluster
from webhook.handlers.near import did_you_mean
from webhook.response import ALLOWED, Answer

__all__ = ["WORKLOADS_WITH_TEMPLATES", "warn_of_unknown_class"]

_LOG: Final = logging.getLogger(__name__)
WORKLOADS_WITH_TEMPLATES: Final[Mapping[tuple[str, str], type[Workload | CronJob]]] = {
    (kind.group, kind.plural): kind.model for kind in WORKLOADS if kind is not REPLICATION_CONTROLLERS
}
"""By group and resource: how each is read."""


def warn_of_unknown_class(workload: Workload | CronJob, cluster: Cluster) -> Answer:
    """A warning for whoever creates or changes a workload whose pods will be refused."""
    if workload.metadata.controller is not None:
        return ALLOWED
    if isinstance(workload, CronJob):
        spec, path = workload.spec.job_template.spec, "spec.jobTemplate.spec.template.spec"
    else:
        spec, path = workload.spec, "spec.template.spec"
    name = spec.template.spec.priority_class_name
    if not name or name in cluster.priority_classes() or _exists(name, cluster):
        return ALLOWED
    near = did_you_mean(name, cluster.priority_classes())
    return Answer(warnings=(f"{path}.priorityClassName: {UnknownPriorityClass(name)}, its pods will be refused{near}",))


def _exists(name: str, cluster: Cluster) -> bool:
    """Whether a class is there that the cache does not have yet; yes when that cannot be found out."""
    try:
        cluster.live().get(PRIORITY_CLASSES, name)
    except NotFound:
        return False
    except ClusterError as error:
        _LOG.warning("PriorityClass %s is taken to exist, it cannot be read: %s", name, error)
    return True
